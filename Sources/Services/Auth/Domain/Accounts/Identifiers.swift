/// 128 bits that name something, written as a UUID.
public protocol Identifier: Sendable, Hashable, CustomStringConvertible {
  /// The 16 bytes, as two big-endian halves.
  init(high: UInt64, low: UInt64)
  /// The first 8 bytes.
  var high: UInt64 { get }
  /// The last 8 bytes.
  var low: UInt64 { get }
}

extension Identifier {
  /// 36 characters: hexadecimal digits in lower case, hyphens after 8, 12, 16 and 20 of them.
  public var description: String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for half in [high, low] {
      for shift in stride(from: 60, through: 0, by: -4) {
        text.append(digits[Int(half >> UInt64(shift) & 15)])
        if [8, 13, 18, 23].contains(text.count) { text.append(0x2d) }
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads what ``description`` writes; capital digits too. Nil for anything else.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 36 else { return nil }
    var halves: [UInt64] = [0, 0]
    var count = 0
    for (index, byte) in bytes.enumerated() {
      if [8, 13, 18, 23].contains(index) {
        guard byte == 0x2d else { return nil }
        continue
      }
      guard let digit = Character(UnicodeScalar(byte)).hexDigitValue else { return nil }
      halves[count / 16] = halves[count / 16] << 4 | UInt64(digit)
      count += 1
    }
    self.init(high: halves[0], low: halves[1])
  }
}

/// Names an account.
public struct UserID: Identifier {
  /// The first 8 bytes.
  public let high: UInt64
  /// The last 8 bytes.
  public let low: UInt64

  /// An identifier from its bytes.
  public init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }
}

/// Names a session: one device that stays signed in.
public struct SessionID: Identifier {
  /// The first 8 bytes.
  public let high: UInt64
  /// The last 8 bytes.
  public let low: UInt64

  /// An identifier from its bytes.
  public init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }
}
