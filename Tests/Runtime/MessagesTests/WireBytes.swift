/// Builds wire bytes by hand, so that what is tested is not what produced the input.
enum Wire {
  static func varint(_ value: UInt64) -> [UInt8] {
    var value = value
    var bytes: [UInt8] = []
    while value >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    return bytes + [UInt8(value)]
  }

  static func tag(_ number: UInt32, _ wireType: UInt64) -> [UInt8] { varint(UInt64(number) << 3 | wireType) }
  static func number(_ field: UInt32, _ value: UInt64) -> [UInt8] { tag(field, 0) + varint(value) }
  static func field(_ field: UInt32, _ content: [UInt8]) -> [UInt8] { tag(field, 2) + varint(UInt64(content.count)) + content }
  static func text(_ number: UInt32, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }

  /// `levels` messages, each in field `number` of the one around it, built from the inside out in linear time.
  static func nested(_ number: UInt32, levels: Int, innermost: [UInt8] = []) -> [UInt8] {
    var reversed = Array(innermost.reversed())
    for _ in 0..<levels {
      reversed += (tag(number, 2) + varint(UInt64(reversed.count))).reversed()
    }
    return reversed.reversed()
  }

  /// The same for a path of field numbers that repeats, outermost first.
  static func nested(path: [UInt32], levels: Int) -> [UInt8] {
    var reversed: [UInt8] = []
    for level in stride(from: levels - 1, through: 0, by: -1) {
      reversed += (tag(path[level % path.count], 2) + varint(UInt64(reversed.count))).reversed()
    }
    return reversed.reversed()
  }
}
