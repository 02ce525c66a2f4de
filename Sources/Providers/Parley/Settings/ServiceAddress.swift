public import RPCClient
public import ServiceKit

/// Where another of our services is: `https://auth.internal:10000`, or `http://…` for clear text.
public struct ServiceAddress: ConfigurationValue, Hashable {
  /// The host name or IP address, and the port.
  public let target: ChannelTarget
  /// Whether it is reached over TLS.
  public let isSecure: Bool
  /// The value as it would be written, without a path.
  public let configurationText: String

  /// What a text must be to be read.
  public static var expectation: String { "a URL with http or https, a host and a port" }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText text: String) {
    guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else { return nil }
    let rest = text.dropFirst(scheme.count)
    let authority = rest.hasSuffix("/") ? rest.dropLast() : rest
    guard let colon = authority.lastIndex(of: ":"), let port = UInt16(authority[authority.index(after: colon)...]), port > 0
    else { return nil }
    var host = authority[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() } else if host.contains(":") { return nil }
    guard !host.isEmpty, !host.contains(where: { $0 == "/" || $0 == "@" || $0.isWhitespace }) else { return nil }
    target = .host(String(host), port: port)
    isSecure = scheme == "https://"
    configurationText = scheme + authority
  }
}
