/// One frame of an input, as it stands on the wire.
struct Frame {
  var type: UInt8
  var flags: UInt8
  var stream: UInt32
  var payload: [UInt8]

  static let data: UInt8 = 0
  static let headers: UInt8 = 1
  static let reset: UInt8 = 3
  static let settings: UInt8 = 4
  static let ping: UInt8 = 6
  static let goaway: UInt8 = 7
  static let windowUpdate: UInt8 = 8
  static let continuation: UInt8 = 9

  static let endStream: UInt8 = 1
  static let endHeaders: UInt8 = 4

  var bytes: [UInt8] {
    let count = min(payload.count, 0xff_ffff)
    return [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags] + Self.number(stream)
      + payload.prefix(count)
  }

  static func number(_ value: UInt32) -> [UInt8] {
    [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
  }

  /// Takes bytes apart. What is no whole frame at the end becomes one of what is there.
  static func parse(_ bytes: [UInt8]) -> [Frame] {
    var frames: [Frame] = []
    var offset = 0
    while bytes.count - offset >= 9 {
      let length = Int(bytes[offset]) << 16 | Int(bytes[offset + 1]) << 8 | Int(bytes[offset + 2])
      let stream = bytes[(offset + 5)..<(offset + 9)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      let end = min(offset + 9 + length, bytes.count)
      frames.append(
        Frame(type: bytes[offset + 3], flags: bytes[offset + 4], stream: stream, payload: Array(bytes[(offset + 9)..<end])))
      offset = end
    }
    return frames
  }

  /// A header list of literals that enter no table.
  static func block(_ fields: [(String, String)]) -> [UInt8] {
    fields.flatMap { name, value in [0] + text(name) + text(value) }
  }

  private static func text(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
    var length: [UInt8] = [127]
    var rest = bytes.count - 127
    while rest >= 128 {
      length.append(UInt8(rest & 127 | 128))
      rest >>= 7
    }
    return length + [UInt8(rest)] + bytes
  }
}
