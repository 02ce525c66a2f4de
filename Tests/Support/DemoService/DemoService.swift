internal import EventLoop
internal import Glibc
internal import ParleyAPI
internal import ParleyProvider
internal import PostgreSQL
public import RPC
internal import RPCServer
public import ServiceKit
internal import TestAPI
internal import Values

/// The smallest service that has everything a service can have but a database, for tests of what surrounds services.
public struct DemoService: Service {
  /// A secret.
  public static let apiKey = ConfigurationKey<String?>(optional: "apiKey", isSecret: true, aliases: ["OLD_API_KEY"], "A secret.")
  /// A number with bounds.
  public static let burst = ConfigurationKey<Int>(
    "rate.burst", default: 30, in: 1...1_000, aliases: ["RATE_BURST"], "Calls at once.")
  /// Whether guards are given.
  public static let isGuarded = ConfigurationKey<Bool>("guarded", default: true, "Whether the guarded method has a guard.")
  /// Whether a background job fails.
  public static let failingJob = ConfigurationKey<Bool>("failingJob", default: false, "Whether a background job fails at once.")
  /// Whether a background job ignores its cancellation.
  public static let stubbornCall = ConfigurationKey<Duration>("slow", default: .milliseconds(300), "How long GET /slow takes.")

  /// A named pipe that the handlers of `block` open, which holds their loop until somebody writes to it.
  public static let gate = ConfigurationKey<FilePath?>(optional: "gate", "A named pipe at which some handlers block their loop.")

  /// What the demo keeps of people: notes, each a file.
  public static let notes = ConfigurationKey<FilePath?>(optional: "notes", "The folder with the notes of people.")

  /// The name of the service.
  public static let name = "demo"
  /// Its settings.
  public static let configuration: [any ConfigurationKeyDeclaration] =
    [
      StandardKeys.listen.aliased(.init("PORT") { "127.0.0.1:\($0)" }), apiKey, burst, isGuarded, failingJob, stubbornCall,
      gate, notes,
    ] + AuthServiceKeys.all
  /// What it serves.
  public static let services = [EchoService.descriptor, PaidService.descriptor, AccountDataService.descriptor]

  /// Warns when nobody is let in.
  public static func check(_ settings: Settings) -> [ConfigurationFinding] {
    AuthServiceKeys.check(settings) + (settings[apiKey] == nil ? [.warning(apiKey, "not set: nobody is let in")] : [])
  }

  /// Puts it together.
  public static func build(_ context: ServiceContext) async throws -> ServiceParts {
    let slow = context.settings[stubbornCall]
    let fails = context.settings[failingJob]
    let sessions = try ParleySessions(context)
    let paid = sessions.map { sessions in
      (
        PaidService.routes(PaidHandlers()),
        HTTPRoute.get("/paid") { request in
          let fields = request.headerValues("authorization")
          let caller = try await sessions.subscriptions.caller(presenting: fields.count == 1 ? fields[0] : nil)
          return .text(200, caller.userID.description)
        }
      )
    }
    let gate = DemoGate(path: context.settings[gate]?.path)
    return ServiceParts(
      services: [
        ServiceRoutes(
          EchoService.descriptor,
          [
            .unary(EchoService.Methods.echo) { request, _ in
              switch request.text {
              case "block": gate.block()
              case "suspend, then block":
                try await Task.sleep(for: .milliseconds(1))
                gate.block()
              default: break
              }
              return EchoResponse(text: request.text)
            },
            .unary(EchoService.Methods.guarded) { _, call in GuardedResponse(caller: try call.caller.userID.description) },
            .unary(EchoService.Methods.fail) { _, _ in throw DemoError() },
          ]),
        AccountDataService.routes(AccountDataHandlers(DemoNotes(folder: context.settings[notes]?.path))),
      ] + (paid.map { [$0.0] } ?? []),
      guards: context.settings[isGuarded]
        ? sessions.map { .sessions($0.authenticator, entitlements: $0.entitlements) } ?? [.session: .authenticator(NobodyMay())]
        : [:],
      http: [
        .get("/hello", allowsHead: true) { _ in .text(200, "hello") },
        .get("/client") { request in .text(200, context.proxies.client(of: request).text) },
        .get("/slow") { _ in
          try await Task.sleep(for: slow)
          return .text(200, "slow")
        },
        .get("/block") { _ in
          gate.block()
          return .text(200, "went on")
        },
        .get("/broken") { _ in throw DemoError() },
        .get("/limited") { _ in
          throw RPCError(.resourceExhausted, "rate limit (user)", details: [.retryInfo(.milliseconds(1_200))])
        },
      ] + (paid.map { [$0.1] } ?? []),
      jobs: [
        BackgroundJob("demo") {
          if fails { throw DemoError() }
          while true { try await Task.sleep(for: .seconds(3_600)) }
        }
      ] + (sessions?.jobs ?? []))
  }
}

/// What a handler must never do: wait in the kernel on its loop.
private struct DemoGate: Sendable {
  let path: String?

  /// Until somebody opens the pipe to write.
  func block() {
    guard let path else { return }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor >= 0 { close(descriptor) }
  }
}

/// Tells those who pay who they are.
private struct PaidHandlers: PaidService.Handlers {
  func read(_ request: ReadRequest, _ call: CallContext) async throws -> ReadResponse {
    ReadResponse(caller: try call.caller.userID.description)
  }
}

/// A defect, whose text no caller may see.
public struct DemoError: Error, CustomStringConvertible {
  /// What it says.
  public let description = "the innards of the demo"
}

private struct NobodyMay: Authenticator {
  func authenticate(_ call: any ServerCall) async throws { throw RPCError(.unauthenticated, "nobody may") }
}
