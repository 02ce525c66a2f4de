internal import EventLoop

/// A network of addresses in CIDR notation, or all peers on Unix sockets.
///
/// IPv4-mapped IPv6 addresses are IPv4 addresses here, since that is what they are on the wire.
public struct NetworkPrefix: ConfigurationValue, Hashable {
  /// The address bytes in network order, 4 or 16, without the bits beyond ``length``; empty for Unix sockets.
  public let bytes: [UInt8]
  /// How many leading bits count.
  public let length: Int

  /// Every peer on a Unix socket.
  public static let unix = NetworkPrefix(bytes: [], length: 0)

  /// What a text must be to be read.
  public static var expectation: String { "a network such as 10.0.0.0/8, 2001:db8::/32, an address, or unix" }

  private init(bytes: [UInt8], length: Int) {
    self.bytes = bytes
    self.length = length
  }

  /// Reads `10.0.0.0/8`, `10.1.2.3`, `2001:db8::/32`, `::1` or `unix`. Bits beyond the length must be zero: a network whose
  /// address was mistyped is not guessed at.
  public init?(configurationText text: String) {
    if text == "unix" {
      self = .unix
      return
    }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let bytes = Self.addressBytes(String(parts[0])) else { return nil }
    var length = bytes.count * 8
    if parts.count == 2 {
      guard !parts[1].isEmpty, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let given = Int(parts[1]) else {
        return nil
      }
      // `::ffff:10.0.0.0/104` counts its length in the IPv6 form.
      length = bytes.count == 4 && parts[0].contains(":") ? given - 96 : given
    }
    guard (0...(bytes.count * 8)).contains(length), Self.mask(bytes, length) == bytes else { return nil }
    self.init(bytes: bytes, length: length)
  }

  /// The value as it would be written.
  public var configurationText: String {
    guard !bytes.isEmpty else { return "unix" }
    return "\(Self.text(bytes))/\(length)"
  }

  /// Whether the address with these bytes is in the network.
  public func contains(_ address: [UInt8]) -> Bool {
    address.count == bytes.count && Self.mask(address, length) == bytes
  }

  /// The network of the given length around an address.
  static func around(_ address: [UInt8], length: Int) -> NetworkPrefix {
    NetworkPrefix(bytes: mask(address, length), length: length)
  }

  /// The bytes of an IP address, an IPv4-mapped one as IPv4; nil when the text is none.
  static func addressBytes(_ text: String) -> [UInt8]? {
    switch SocketAddress(ip: text, port: 0)?.kind {
    case .ipv4(let bytes, _): return bytes
    case .ipv6(let bytes, _):
      return bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] ? Array(bytes.suffix(4)) : bytes
    default: return nil
    }
  }

  /// The canonical text of an address.
  static func text(_ bytes: [UInt8]) -> String {
    bytes.count == 4 ? SocketAddress(.ipv4(bytes, port: 0)).host : SocketAddress(.ipv6(bytes, port: 0)).host
  }

  private static func mask(_ bytes: [UInt8], _ length: Int) -> [UInt8] {
    var masked = bytes
    for index in masked.indices {
      let bits = min(8, max(0, length - index * 8))
      masked[index] &= bits == 0 ? 0 : 0xff << UInt8(8 - bits)
    }
    return masked
  }
}
