internal import ArgumentParser
internal import EventLoop
internal import HTTP2
internal import RPC
internal import RPCClient
internal import WellKnown

/// `parley-<service> health`: the exit codes of grpc-health-probe.
struct HealthCommand<S: Service>: AsyncParsableCommand {
  static var badArguments: Int32 { 1 }
  static var connectionFailed: Int32 { 2 }
  static var callFailed: Int32 { 3 }
  static var notServing: Int32 { 4 }

  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "health", abstract: "Asks a running service over gRPC whether it serves.",
      discussion: """
        Without --address, \(Settings.prefix(S.name))LISTEN is asked, or \(Settings.prefix(S.name))TLS_LISTEN with --tls.

        Exit codes: 0 serving, 1 wrong arguments, 2 no connection, 3 the call failed, 4 not serving.
        """)
  }

  @Option(help: "Where to ask: 127.0.0.1:10000, [::1]:10000 or unix:/run/parley.sock.") var address: String?
  @Option(help: "The full name of one service; without it, the whole process is asked.") var service = ""
  @Option(help: "How long to wait, as in 500ms or 1s.") var timeout = "1s"
  @Flag(help: "Asks over TLS.") var tls = false
  @Option(help: "A PEM file with the roots to trust over TLS, instead of the system's.") var ca: String?
  @Option(help: "The name that the certificate must have, when it is not the address.") var serverName: String?
  @OptionGroup var flags: SettingFlags

  func run() async throws {
    let (target, limit, context) = try arguments()
    let loops = try EventLoopGroup(count: 1, name: "health")
    var configuration = ClientChannelConfiguration(tls: context)
    configuration.connectTimeout = limit
    let channel = ClientChannel(to: target, on: loops, configuration: configuration)
    // On the channel's own loop, as a handler's calls are.
    let code = await Task(executorPreference: loops.loops[0]) {
      let code = await ask(channel, limit)
      await channel.close()
      return code
    }.value
    loops.shutDown()
    guard code == 0 else { throw ExitCode(code) }
  }

  private func ask(_ channel: ClientChannel, _ limit: Duration) async -> Int32 {
    do throws(RPCError) {
      let response = try await GRPCHealthV1.Health.Client(channel).check(.init(service: service), options: .timeout(limit))
      let isServing = response.status == .serving
      Output.print(isServing ? "serving\n" : "not serving\n")
      return isServing ? 0 : Self.notServing
    } catch {
      Output.error("\(channel.target): \(error)\n")
      return error.code == .unavailable ? Self.connectionFailed : Self.callFailed
    }
  }

  private func arguments() throws -> (ChannelTarget, Duration, TLSContext?) {
    guard let limit = Duration(configurationText: timeout), limit > .zero else {
      throw Self.refuse("--timeout takes \(Duration.expectation)")
    }
    let context: TLSContext?
    do {
      let roots = ca.map { TLSConfiguration.TrustRoots.certificates(.file($0)) } ?? .system
      context = tls ? try TLSContext(.client(trustRoots: roots, serverName: serverName)) : nil
    } catch { throw Self.refuse("TLS cannot be used: \(error.message)") }
    guard let address = try given() else { throw Self.refuse("no address: give --address") }
    switch address.kind {
    case .unix(let path): return (.unix(path: path), limit, context)
    case .ipv4(_, let port), .ipv6(_, let port): return (.host(Self.reachable(address), port: port), limit, context)
    }
  }

  private func given() throws -> SocketAddress? {
    if let address {
      guard let address = SocketAddress(configurationText: address) else {
        throw Self.refuse("--address takes \(SocketAddress.expectation)")
      }
      return address
    }
    let keys = S.keys.filter { [StandardKeys.listen.name, StandardKeys.tlsListen.name].contains($0.name) }
    do {
      let settings = try Settings(
        service: S.name, keys: keys, flags: flags.values(), environment: ProcessEnvironment.all, others: S.keys)
      return settings[tls ? StandardKeys.tlsListen : StandardKeys.listen]
    } catch {
      throw Self.refuse("\(error)")
    }
  }

  /// What listens on every address is asked on this machine's own.
  private static func reachable(_ address: SocketAddress) -> String {
    switch address.host {
    case "0.0.0.0": "127.0.0.1"
    case "::": "::1"
    case let host: host
    }
  }

  private static func refuse(_ message: String) -> ExitCode {
    Output.error("error: \(message)\n")
    return ExitCode(badArguments)
  }
}
