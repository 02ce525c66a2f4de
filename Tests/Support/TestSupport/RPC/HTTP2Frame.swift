/// One HTTP/2 frame as it stands on the wire: what a hostile peer needs and a library would not write.
public struct HTTP2Frame: Sendable, Hashable {
  /// The types of RFC 9113, section 6.
  public enum Kind: UInt8, Sendable {
    /// A frame of RFC 9113.
    case data, headers, priority, reset, settings, pushPromise, ping, goaway, windowUpdate, continuation
  }

  /// The type's number.
  public var type: UInt8
  /// The flags.
  public var flags: UInt8
  /// The stream, 0 for the connection.
  public var stream: UInt32
  /// What follows the nine bytes of the header.
  public var payload: [UInt8]

  /// A frame of any content.
  public init(_ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) {
    self.init(type: kind.rawValue, flags: flags, stream: stream, payload)
  }

  /// A frame of any type.
  public init(type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) {
    self.type = type
    self.flags = flags
    self.stream = stream
    self.payload = payload
  }

  /// END_STREAM, and ACK.
  public static let endStream: UInt8 = 1
  /// ACK.
  public static let acknowledgement: UInt8 = 1
  /// END_HEADERS.
  public static let endHeaders: UInt8 = 4
  /// What a client says first.
  public static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  /// The bytes on the wire.
  public var bytes: [UInt8] {
    let count = payload.count
    return [UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags] + Self.number(stream) + payload
  }

  /// A number of four bytes in network order.
  public static func number(_ value: UInt32) -> [UInt8] {
    [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
  }

  /// The number in network order that the payload has at `offset`.
  public func number(at offset: Int = 0) -> UInt32 { payload[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }

  // MARK: Frames by purpose

  /// SETTINGS of the given identifiers and values.
  public static func settings(_ values: [(UInt16, UInt32)]) -> HTTP2Frame {
    .init(.settings, values.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 255)] + number($0.1) })
  }

  /// WINDOW_UPDATE.
  public static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> HTTP2Frame {
    .init(.windowUpdate, stream: stream, number(increment))
  }

  /// RST_STREAM.
  public static func reset(_ stream: UInt32, _ code: UInt32) -> HTTP2Frame { .init(.reset, stream: stream, number(code)) }

  /// HEADERS whose block is complete.
  public static func headers(_ stream: UInt32, _ block: [UInt8], ends: Bool = false) -> HTTP2Frame {
    .init(.headers, flags: endHeaders | (ends ? endStream : 0), stream: stream, block)
  }

  /// DATA.
  public static func data(_ stream: UInt32, _ bytes: [UInt8], ends: Bool = false) -> HTTP2Frame {
    .init(.data, flags: ends ? endStream : 0, stream: stream, bytes)
  }
}

/// HPACK as far as tests need it to write: literals that enter no table (RFC 7541, section 6.2.2).
public enum HPACK {
  /// The block of a header list.
  public static func block(_ fields: [(String, String)]) -> [UInt8] { fields.flatMap { literal($0.0, $0.1) } }

  /// One field.
  public static func literal(_ name: String, _ value: String) -> [UInt8] { literal(name, Array(value.utf8)) }

  /// One field of any bytes.
  public static func literal(_ name: String, _ value: [UInt8]) -> [UInt8] {
    [0] + integer(name.utf8.count, prefix: 7) + Array(name.utf8) + integer(value.count, prefix: 7) + value
  }

  /// One field that enters the dynamic table.
  public static func indexed(_ name: String, _ value: [UInt8]) -> [UInt8] {
    [0x40] + integer(name.utf8.count, prefix: 7) + Array(name.utf8) + integer(value.count, prefix: 7) + value
  }

  /// An integer with a prefix of so many bits whose other bits are zero (section 5.1).
  public static func integer(_ value: Int, prefix: Int) -> [UInt8] {
    let limit = (1 << prefix) - 1
    guard value >= limit else { return [UInt8(value)] }
    var rest = value - limit
    var bytes = [UInt8(limit)]
    while rest >= 128 {
      bytes.append(UInt8(rest & 127 | 128))
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }
}
