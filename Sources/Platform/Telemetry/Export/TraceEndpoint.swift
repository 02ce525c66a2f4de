public import RPCClient

/// Where spans are sent: `http://host:4317` in clear text, or `https://host:4317` over TLS.
public struct TraceEndpoint: Sendable, Hashable, CustomStringConvertible {
  /// The host's name or address.
  public let host: String
  /// The port; 4317 unless it is said.
  public let port: UInt16
  /// Whether the connection is encrypted.
  public let isSecure: Bool

  /// The port that collectors take OTLP over gRPC on.
  public static let standardPort: UInt16 = 4_317

  /// Reads a URL without path, query or user; nil for anything else.
  public init?(_ text: String) {
    var rest: Substring
    if text.hasPrefix("http://") {
      isSecure = false
      rest = text.dropFirst(7)
    } else if text.hasPrefix("https://") {
      isSecure = true
      rest = text.dropFirst(8)
    } else {
      return nil
    }
    if rest.hasSuffix("/") { rest = rest.dropLast() }
    var port: Substring?
    if rest.hasPrefix("[") {
      guard let end = rest.firstIndex(of: "]") else { return nil }
      host = String(rest[rest.index(after: rest.startIndex)..<end])
      let behind = rest[rest.index(after: end)...]
      guard behind.isEmpty || behind.hasPrefix(":") else { return nil }
      port = behind.isEmpty ? nil : behind.dropFirst()
    } else {
      let parts = rest.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      host = String(parts[0])
      port = parts.count > 1 ? parts[1] : nil
    }
    guard !host.isEmpty, host.utf8.allSatisfy({ Self.isHostByte($0) }) else { return nil }
    guard let port else {
      self.port = Self.standardPort
      return
    }
    guard let number = UInt16(port), number > 0, port.first != "+" else { return nil }
    self.port = number
  }

  /// What a channel is made with.
  public var target: ChannelTarget { .host(host, port: port) }

  /// The URL.
  public var description: String {
    "\(isSecure ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
  }

  private static func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"): true
    default: false
    }
  }
}
