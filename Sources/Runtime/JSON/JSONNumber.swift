/// A JSON number that keeps its spelling, so that no 64-bit integer and no large exponent is rounded on the way through.
public struct JSONNumber: Sendable, Hashable {
  /// The number as RFC 8259 spells it: ASCII, for example `-0`, `18446744073709551615`, `1e300`.
  public let text: String

  /// A number whose text the parser has judged.
  init(judged text: String) { self.text = text }

  /// A whole number.
  public init(_ value: Int64) { text = String(value) }

  /// A whole number.
  public init(_ value: Int) { text = String(value) }

  /// A whole number without sign.
  public init(_ value: UInt64) { text = String(value) }

  /// The shortest spelling that reads back as the same double; nil for infinities and NaN, which JSON cannot spell.
  public init?(_ value: Double) {
    guard value.isFinite else { return nil }
    text = value.shortestText
  }

  /// The exact value as a signed integer: nil if it has a fraction or does not fit. `1.0` and `1e2` are whole numbers.
  public var int64: Int64? {
    guard let (isNegative, magnitude) = wholeNumber else { return nil }
    if isNegative { return magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil }
    return Int64(exactly: magnitude)
  }

  /// The exact value as an unsigned integer: nil if it is negative, has a fraction or does not fit. `-0` is 0.
  public var uint64: UInt64? {
    guard let (isNegative, magnitude) = wholeNumber, !isNegative || magnitude == 0 else { return nil }
    return magnitude
  }

  /// The nearest double: nil if the number is too large for one (`1e400`). A number too small for one is zero.
  public var double: Double? {
    guard let value = Double(text), value.isFinite else { return nil }
    return value
  }

  /// Sign and magnitude if the number is whole and its magnitude below 2^64.
  ///
  /// Digits are read as they come; zeros are held back until a later digit shows that they count, so `1000e-3`,
  /// `0.001e3` and `1.000` need no rounding and no arithmetic beyond 64 bits.
  private var wholeNumber: (isNegative: Bool, magnitude: UInt64)? {
    var isNegative = false
    var magnitude: UInt64 = 0
    var heldZeros = 0
    var fractionDigits = 0
    var exponent = 0
    var exponentIsNegative = false
    enum Part { case whole, fraction, exponent }
    var part = Part.whole
    for byte in text.utf8 {
      switch (byte, part) {
      case (UInt8(ascii: "-"), .exponent): exponentIsNegative = true
      case (UInt8(ascii: "-"), _): isNegative = true
      case (UInt8(ascii: "+"), _): break
      case (UInt8(ascii: "."), _): part = .fraction
      case (UInt8(ascii: "e"), _), (UInt8(ascii: "E"), _): part = .exponent
      case (_, .exponent):
        // Saturated far beyond any exponent that a text of this length could balance.
        exponent = min(exponent * 10 + Int(byte - 48), 1 << 40)
      default:
        if part == .fraction { fractionDigits += 1 }
        guard byte != UInt8(ascii: "0") else {
          if magnitude != 0 { heldZeros += 1 }
          continue
        }
        for _ in 0..<heldZeros {
          guard magnitude.multiply(by: 10) else { return nil }
        }
        heldZeros = 0
        guard magnitude.multiply(by: 10) else { return nil }
        let (sum, overflow) = magnitude.addingReportingOverflow(UInt64(byte - 48))
        guard !overflow else { return nil }
        magnitude = sum
      }
    }
    guard magnitude != 0 else { return (isNegative, 0) }
    let scale = heldZeros - fractionDigits + (exponentIsNegative ? -exponent : exponent)
    guard scale >= 0, scale <= 19 else { return nil }
    for _ in 0..<scale {
      guard magnitude.multiply(by: 10) else { return nil }
    }
    return (isNegative, magnitude)
  }
}

extension UInt64 {
  /// Multiplies in place and says whether the product fits.
  fileprivate mutating func multiply(by factor: UInt64) -> Bool {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    self = product
    return !overflow
  }
}

extension BinaryFloatingPoint where Self: CustomStringConvertible {
  /// The shortest text that reads back as this finite number, without the `.0` that Swift puts behind whole numbers.
  var shortestText: String {
    let text = description
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }
}
