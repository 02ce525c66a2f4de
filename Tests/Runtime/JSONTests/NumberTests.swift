import JSON
import Testing

@Suite("JSON numbers")
struct NumberTests {
  static let spellings: [(String, Int64?, UInt64?)] = [
    ("0", 0, 0), ("-0", 0, 0), ("1", 1, 1), ("-1", -1, nil), ("1.0", 1, 1), ("1.000", 1, 1), ("1e2", 100, 100),
    ("1E+2", 100, 100),
    ("100e-2", 1, 1), ("1000e-3", 1, 1), ("0.001e3", 1, 1), ("-0.0e0", 0, 0), ("0e99999999999999999999", 0, 0),
    ("1.5", nil, nil), ("1e-1", nil, nil), ("105e-1", nil, nil), ("0.1", nil, nil),
    ("9223372036854775807", .max, 9_223_372_036_854_775_807), ("9223372036854775808", nil, 9_223_372_036_854_775_808),
    ("-9223372036854775808", .min, nil), ("-9223372036854775809", nil, nil), ("-9223372036854775808.0", .min, nil),
    ("18446744073709551615", nil, .max), ("18446744073709551616", nil, nil), ("-18446744073709551615", nil, nil),
    ("1844674407370955161.5e1", nil, .max), ("1e18", 1_000_000_000_000_000_000, 1_000_000_000_000_000_000),
    ("1e19", nil, 10_000_000_000_000_000_000), ("2e19", nil, nil), ("1e20", nil, nil), ("1e300", nil, nil), ("1e400", nil, nil),
    ("9007199254740993", 9_007_199_254_740_993, 9_007_199_254_740_993), ("1e99999999999999999999", nil, nil),
    ("1e-99999999999999999999", nil, nil), ("99999999999999999999999999", nil, nil),
    ("10000000000000000000000000e-20", 100_000, 100_000), ("0.00000000000000000000000001e26", 1, 1),
  ]

  @Test("Whole numbers are exact to the edges of 64 bits, however they are spelled", arguments: spellings)
  func integers(_ text: String, _ int64: Int64?, _ uint64: UInt64?) throws {
    let number = try #require(try JSONParser.parse(text).number)
    #expect(number.int64 == int64)
    #expect(number.uint64 == uint64)
    #expect(number.text == text)
  }

  @Test(
    "A double is read to the nearest, and not at all when it would be infinite",
    arguments: [
      ("1e300", 1e300), ("-1.5", -1.5), ("1e308", 1e308), ("1.7976931348623157e308", Double.greatestFiniteMagnitude),
      ("1e309", nil), ("-1e400", nil), ("5e-324", Double.leastNonzeroMagnitude), ("1e-400", 0), ("0.1", 0.1),
      ("9007199254740993", 9_007_199_254_740_992),
    ] as [(String, Double?)])
  func doubles(_ text: String, _ expected: Double?) throws {
    #expect(try JSONParser.parse(text).number?.double == expected)
  }

  @Test("Minus zero keeps its sign")
  func minusZero() throws {
    #expect(try JSONParser.parse("-0").number?.double?.sign == .minus)
    #expect(JSONNumber(-0.0)?.text == "-0")
  }

  @Test("Infinities and NaN make no number", arguments: [Double.infinity, -.infinity, .nan, .signalingNaN])
  func notFinite(_ value: Double) {
    #expect(JSONNumber(value) == nil)
  }
}
