import ArgumentParser

/// `parley demo`: shows that what runs does what it is for.
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Walk through what the services do, step by step.",
    discussion: """
      It needs everything that 'make run' starts and finds it by itself. Each step acts as a person of its own, so it can be \
      repeated at once. The last line counts the steps; the exit code is 0 when all passed.
      """)

  @Option(help: .init("The edge without TLS; else PARLEY_EDGE_HTTP.", valueName: "url")) var edgeHttp: String?
  @Option(help: .init("The edge with TLS; else PARLEY_EDGE_HTTPS.", valueName: "url")) var edgeHttps: String?
  @Option(help: .init("gRPC without TLS; else PARLEY_AUTH_n_H2C. May be repeated, once for each copy.", valueName: "host:port"))
  var grpc: [String] = []
  @Option(help: .init("gRPC with TLS; else PARLEY_AUTH_1_TLS.", valueName: "host:port")) var grpcTls: String?
  @Option(help: .init("The root certificate of all of them; else PARLEY_CA_FILE.", valueName: "file")) var ca: String?
  @Option(help: .init("The sandbox; else PARLEY_SANDBOX.", valueName: "url")) var sandbox: String?
  @Option(help: .init("A second service with TLS; else PARLEY_DEMO_TLS.", valueName: "url")) var second: String?
  @Option(help: .init("The onboarding service without TLS; else PARLEY_ONBOARDING_1_H2C.", valueName: "host:port"))
  var onboarding: String?
  @Option(help: .init("Where it keeps recordings; else PARLEY_ONBOARDING_RECORDINGS.", valueName: "folder"))
  var recordings: String?
  @Option(help: .init("The audience that the broker accepts; else PARLEY_AUDIENCE.", valueName: "client id")) var audience:
    String?
  @Option(help: .init("Where the audit is; else PARLEY_DATABASE_URL.", valueName: "url")) var databaseUrl: String?

  func run() async throws {
    let local = try LocalSettings.current()
    func setting(_ option: String?, _ name: String) throws -> String {
      guard let value = option ?? local[name] else {
        throw ValidationError("\(name) is not set: start everything with 'make run', or give the option.")
      }
      return value
    }
    let copies = grpc.isEmpty ? local.numbered("PARLEY_AUTH_", "_H2C") : grpc
    guard !copies.isEmpty else {
      throw ValidationError("PARLEY_AUTH_1_H2C is not set: start everything with 'make run', or give --grpc.")
    }
    let places = DemoPlaces(
      edgeHTTP: try setting(edgeHttp, "PARLEY_EDGE_HTTP"), edgeHTTPS: try setting(edgeHttps, "PARLEY_EDGE_HTTPS"), copies: copies,
      grpcTLS: try setting(grpcTls, "PARLEY_AUTH_1_TLS"), caFile: try setting(ca, "PARLEY_CA_FILE"),
      sandbox: try setting(sandbox, "PARLEY_SANDBOX"), second: try setting(second, "PARLEY_DEMO_TLS"),
      onboarding: try setting(onboarding, "PARLEY_ONBOARDING_1_H2C"),
      recordings: try setting(recordings, "PARLEY_ONBOARDING_RECORDINGS"),
      audience: try setting(audience, "PARLEY_AUDIENCE"),
      database: try setting(databaseUrl, "PARLEY_DATABASE_URL"))
    let failed = try await DemoStage.open(places) { stage in await Walkthrough(stage: stage).run() }
    if failed > 0 { throw ExitCode.failure }
  }
}
