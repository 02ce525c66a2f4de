import ArgumentParser
import HTTP2
import RPCClient

/// Where the service is and how to speak to it: what every command that calls has in common.
struct TargetOptions: ParsableArguments {
  @Option(help: .init("The service's address.", valueName: "host:port")) var target: String?
  @Flag(help: "Encrypt the connection and verify the server.") var tls = false
  @Option(help: .init("Trust the certificates in this PEM file; turns --tls on.", valueName: "file")) var ca: String?
  @Option(help: .init("The name that the server's certificate must have, when it is not the target's host.", valueName: "name"))
  var serverName: String?
  @Option(help: .init("Be known by the certificate in this PEM file; turns --tls on.", valueName: "file"))
  var certificate: String?
  @Option(help: .init("The private key of that certificate, PEM.", valueName: "file")) var key: String?
  @Option(help: .init("How long to wait: 250ms, 5s, 1m. (default: 10s; streams as long as they last)", valueName: "duration"))
  var timeout: Timeout?
  @Flag(help: "Print results and errors as JSON.") var json = false

  /// How long a command waits that is not told otherwise.
  static let defaultTimeout = Duration.seconds(10)

  /// Whether the connection is encrypted.
  var isEncrypted: Bool { tls || ca != nil || certificate != nil }

  func validate() throws {
    guard (certificate == nil) == (key == nil) else { throw ValidationError("--certificate and --key go together.") }
  }

  /// The target, from the options or else from `local`.
  func channelTarget(_ local: LocalSettings) throws -> ChannelTarget {
    let name = isEncrypted ? "PARLEY_AUTH_1_TLS" : "PARLEY_AUTH_1_H2C"
    guard let text = target ?? local["PARLEY_TARGET"] ?? local[name] else {
      throw ValidationError("No target: give --target host:port, set PARLEY_TARGET, or start one with 'make run'.")
    }
    return try Self.parsed(text)
  }

  static func parsed(_ text: String) throws -> ChannelTarget {
    guard let parsed = ChannelTarget(text) else { throw ValidationError("'\(text)' is no target: give host:port.") }
    return parsed
  }

  /// How connections are encrypted; nil for clear text.
  func tlsContext(_ local: LocalSettings) throws -> TLSContext? {
    guard isEncrypted else { return nil }
    let roots = (ca ?? local["PARLEY_CA_FILE"]).map { TLSConfiguration.TrustRoots.certificates(.file($0)) } ?? .system
    var identity: TLSConfiguration.Identity?
    if let certificate, let key { identity = .init(certificateChain: .file(certificate), privateKey: .file(key)) }
    do { return try TLSContext(.client(trustRoots: roots, identity: identity, serverName: serverName)) } catch {
      throw ValidationError("TLS: \(error)")
    }
  }
}

extension TargetOptions {
  /// The same for whoever must show a certificate: without `--certificate` the one that the settings name is shown.
  ///
  /// - Throws: `ValidationError` when there is none.
  func asOperator(_ local: LocalSettings) throws -> TargetOptions {
    var options = self
    options.certificate = certificate ?? local["PARLEY_OPERATOR_CERTIFICATE"]
    options.key = key ?? local["PARLEY_OPERATOR_KEY"]
    guard options.certificate != nil, options.key != nil else {
      throw ValidationError(
        "Operators are known by a client certificate: give --certificate and --key, or set PARLEY_OPERATOR_CERTIFICATE and "
          + "PARLEY_OPERATOR_KEY.")
    }
    return options
  }
}

extension ChannelTarget {
  /// Reads `host:port`, `[ipv6]:port` or `unix:path`.
  init?(_ text: String) {
    if text.hasPrefix("unix:"), text.count > 5 {
      self = .unix(path: String(text.dropFirst(5)))
      return
    }
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() } else if host.contains(":") { return nil }
    guard !host.isEmpty, !host.contains("/") else { return nil }
    self = .host(String(host), port: port)
  }
}
