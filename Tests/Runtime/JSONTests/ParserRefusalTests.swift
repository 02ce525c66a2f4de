import JSON
import Testing

/// A text that must be refused, for what and where.
struct RefusedText: Sendable, CustomTestStringConvertible {
  let bytes: [UInt8]
  let code: JSONError.Code
  let offset: Int

  init(_ text: String, _ code: JSONError.Code, at offset: Int) {
    self.init(bytes: Array(text.utf8), code, at: offset)
  }

  init(bytes: [UInt8], _ code: JSONError.Code, at offset: Int) {
    self.bytes = bytes
    self.code = code
    self.offset = offset
  }

  var testDescription: String { String(decoding: bytes.prefix(40), as: UTF8.self) }
}

@Suite("What the JSON parser refuses")
struct ParserRefusalTests {
  static let grammar: [RefusedText] = [
    RefusedText("", .unexpectedEnd, at: 0),
    RefusedText("  ", .unexpectedEnd, at: 2),
    RefusedText("{", .unexpectedEnd, at: 1),
    RefusedText("[", .unexpectedEnd, at: 1),
    RefusedText("[1", .unexpectedEnd, at: 2),
    RefusedText("[1,", .unexpectedEnd, at: 3),
    RefusedText("[1,]", .syntax, at: 3),
    RefusedText("[,1]", .syntax, at: 1),
    RefusedText("[,]", .syntax, at: 1),
    RefusedText("[1,,2]", .syntax, at: 3),
    RefusedText("[1 2]", .syntax, at: 3),
    RefusedText("[1}", .syntax, at: 2),
    RefusedText("]", .syntax, at: 0),
    RefusedText("{]", .syntax, at: 1),
    RefusedText(#"{"a":1,}"#, .syntax, at: 7),
    RefusedText(#"{,"a":1}"#, .syntax, at: 1),
    RefusedText(#"{"a" 1}"#, .syntax, at: 5),
    RefusedText(#"{"a"}"#, .syntax, at: 4),
    RefusedText(#"{"a":}"#, .syntax, at: 5),
    RefusedText(#"{a:1}"#, .syntax, at: 1),
    RefusedText(#"{'a':1}"#, .syntax, at: 1),
    RefusedText(#"{1:1}"#, .syntax, at: 1),
    RefusedText(#"{"a":1 "b":2}"#, .syntax, at: 7),
    RefusedText("'a'", .syntax, at: 0),
    RefusedText("tru", .unexpectedEnd, at: 3),
    RefusedText("True", .syntax, at: 0),
    RefusedText("trux", .syntax, at: 3),
    RefusedText("nul1", .syntax, at: 3),
    RefusedText("undefined", .syntax, at: 0),
    RefusedText("// a\n1", .syntax, at: 0),
    RefusedText("/* */1", .syntax, at: 0),
    RefusedText("1 2", .trailingBytes, at: 2),
    RefusedText("1,", .trailingBytes, at: 1),
    RefusedText("{}{}", .trailingBytes, at: 2),
    RefusedText("{}}", .trailingBytes, at: 2),
    RefusedText("truefalse", .trailingBytes, at: 4),
    RefusedText("null\0", .trailingBytes, at: 4),
    RefusedText("\u{FEFF}{}", .syntax, at: 0),
    RefusedText("\u{A0}1", .syntax, at: 0),
    RefusedText("\u{0C}1", .syntax, at: 0),
    RefusedText("\u{0B}1", .syntax, at: 0),
    RefusedText(bytes: [0xFE, 0xFF, 0x00, 0x31], .syntax, at: 0),
    RefusedText(bytes: [0x31, 0x00], .trailingBytes, at: 1),
  ]

  static let numbers: [RefusedText] = [
    RefusedText("01", .invalidNumber, at: 1),
    RefusedText("00", .invalidNumber, at: 1),
    RefusedText("-01", .invalidNumber, at: 2),
    RefusedText("-", .unexpectedEnd, at: 1),
    RefusedText("--1", .invalidNumber, at: 1),
    RefusedText("-a", .invalidNumber, at: 1),
    RefusedText("+1", .invalidNumber, at: 0),
    RefusedText(".5", .invalidNumber, at: 0),
    RefusedText("5.", .unexpectedEnd, at: 2),
    RefusedText("[5.]", .invalidNumber, at: 3),
    RefusedText("-.5", .invalidNumber, at: 1),
    RefusedText("1e", .unexpectedEnd, at: 2),
    RefusedText("1e+", .unexpectedEnd, at: 3),
    RefusedText("[1e+]", .invalidNumber, at: 4),
    RefusedText("1.e1", .invalidNumber, at: 2),
    RefusedText("1e1.5", .trailingBytes, at: 3),
    RefusedText("1.2.3", .trailingBytes, at: 3),
    RefusedText("0x10", .trailingBytes, at: 1),
    RefusedText("1_000", .trailingBytes, at: 1),
    RefusedText("1f", .trailingBytes, at: 1),
    RefusedText("NaN", .invalidNumber, at: 0),
    RefusedText("Infinity", .invalidNumber, at: 0),
    RefusedText("-Infinity", .invalidNumber, at: 1),
    RefusedText("[NaN]", .invalidNumber, at: 1),
    RefusedText("\u{FF11}", .syntax, at: 0),
  ]

  static let strings: [RefusedText] = [
    RefusedText("\"", .unexpectedEnd, at: 1),
    RefusedText("\"a", .unexpectedEnd, at: 2),
    RefusedText("\"\\\"", .unexpectedEnd, at: 3),
    RefusedText("\"\\", .unexpectedEnd, at: 2),
    RefusedText("\"\\u00\"", .invalidEscape, at: 1),
    RefusedText("\"\\u12g4\"", .invalidEscape, at: 1),
    RefusedText("\"\\u+123\"", .invalidEscape, at: 1),
    RefusedText("\"\\x41\"", .invalidEscape, at: 1),
    RefusedText("\"\\'\"", .invalidEscape, at: 1),
    RefusedText("\"\\U0041\"", .invalidEscape, at: 1),
    RefusedText("\"\\a\"", .invalidEscape, at: 1),
    RefusedText("\"\\\n\"", .invalidEscape, at: 1),
    RefusedText("\"ab\\ud800\"", .invalidEscape, at: 3),
    RefusedText("\"\\udbffx\"", .invalidEscape, at: 1),
    RefusedText("\"\\udc00\"", .invalidEscape, at: 1),
    RefusedText("\"\\udfff\\ud800\"", .invalidEscape, at: 1),
    RefusedText("\"\\ud800\\n\"", .invalidEscape, at: 1),
    RefusedText("\"\\ud800\\u0041\"", .invalidEscape, at: 1),
    RefusedText("\"\\ud800\\ud800\"", .invalidEscape, at: 1),
    RefusedText("\"\\ud800\\ue000\"", .invalidEscape, at: 1),
    RefusedText(bytes: [0x22, 0x80, 0x22], .invalidUTF8, at: 0),
    RefusedText(bytes: [0x22, 0xC3, 0x22], .invalidUTF8, at: 0),
    RefusedText(bytes: [0x22, 0xC0, 0x80, 0x22], .invalidUTF8, at: 0),  // an overlong NUL
    RefusedText(bytes: [0x22, 0xED, 0xA0, 0x80, 0x22], .invalidUTF8, at: 0),  // a surrogate, encoded
    RefusedText(bytes: [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], .invalidUTF8, at: 0),  // above U+10FFFF
    RefusedText(bytes: [0x22, 0xFF, 0x22], .invalidUTF8, at: 0),
    RefusedText(bytes: Array("[\"\\n".utf8) + [0xE2, 0x82, 0x22, 0x5D], .invalidUTF8, at: 1),
    RefusedText(bytes: Array("\"".utf8) + [0xC3] + Array("\\u00a9\"".utf8), .invalidUTF8, at: 0),
    RefusedText(bytes: Array("{\"".utf8) + [0xFF] + Array("\":1}".utf8), .invalidUTF8, at: 1),
  ]

  @Test("A text outside the grammar is refused at the byte that breaks it", arguments: grammar + numbers + strings)
  func refusal(_ text: RefusedText) throws {
    let error = try #require(throws: JSONError.self) { try JSONParser.parse(text.bytes) }
    #expect(error.code == text.code)
    #expect(error.offset == text.offset)
  }

  @Test("Every raw control character inside a string is refused", arguments: UInt8(0)..<0x20)
  func rawControlCharacter(_ byte: UInt8) throws {
    let error = try #require(throws: JSONError.self) { try JSONParser.parse([0x22, 0x61, byte, 0x22]) }
    #expect(error.code == .controlCharacter)
    #expect(error.offset == 2)
  }

  @Test("Every proper prefix of an object is refused")
  func everyPrefix() throws {
    let text = Array(#" {"a":[1,-2.5e+3,"\u00e9\ud83d\ude00"],"b":{"c":null,"d":true,"e":false}}"#.utf8)
    #expect(throws: Never.self) { try JSONParser.parse(text) }
    for length in 0..<text.count {
      #expect(throws: JSONError.self, "\(length) bytes") { try JSONParser.parse(Array(text[..<length])) }
    }
  }

  @Test("Nesting is allowed up to the limit and refused one level deeper", arguments: [1, 2, 100, 512])
  func depth(_ limit: Int) throws {
    let options = JSONParser.Options(maximumDepth: limit)
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(throws: Never.self) { try JSONParser.parse(nested(limit), options: options) }
    let error = try #require(throws: JSONError.self) { try JSONParser.parse(nested(limit + 1), options: options) }
    #expect(error.code == .tooDeep)
    #expect(error.offset == limit)
  }

  @Test("Objects count as nesting, and a depth of 0 allows only scalars")
  func depthOfObjects() throws {
    let options = JSONParser.Options(maximumDepth: 0)
    #expect(try JSONParser.parse("7", options: options) == 7)
    #expect(throws: JSONError.self) { try JSONParser.parse("{}", options: options) }
    let mixed = String(repeating: #"{"a":["#, count: 51)
    let error = try #require(throws: JSONError.self) { try JSONParser.parse(mixed) }
    #expect(error.code == .tooDeep)
  }

  @Test("No option lifts the nesting above 512, and a million brackets end in a refusal")
  func depthCeiling() throws {
    let brackets = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
    let error = try #require(throws: JSONError.self) {
      try JSONParser.parse(brackets, options: JSONParser.Options(maximumDepth: .max))
    }
    #expect(error.code == .tooDeep)
    #expect(error.offset == 512)
  }

  @Test("A text at the byte limit is read and one byte above is refused unread")
  func byteLimit() throws {
    let options = JSONParser.Options(maximumByteCount: 4)
    #expect(try JSONParser.parse("1234", options: options) == 1234)
    let error = try #require(throws: JSONError.self) { try JSONParser.parse("12345", options: options) }
    #expect(error.code == .tooLarge)
  }

  @Test(
    "Two members of one name are refused, however they are spelled",
    arguments: [
      #"{"a":1,"a":1}"#, #"{"a":1,"b":2,"a":3}"#, #"{"a":1,"\u0061":2}"#, #"{"":1,"":2}"#, #"[{"x":{"é":1,"\u00e9":2}}]"#,
    ])
  func duplicateNames(_ text: String) throws {
    let error = try #require(throws: JSONError.self) { try JSONParser.parse(text) }
    #expect(error.code == .duplicateName)
  }

  @Test("A duplicate is found among hundreds of members", arguments: [15, 16, 17, 400])
  func duplicateAmongMany(_ count: Int) throws {
    let members = (0..<count).map { #""n\#($0)":\#($0)"# }
    #expect(throws: Never.self) { try JSONParser.parse("{\(members.joined(separator: ","))}") }
    let text = "{\((members + [#""n7":0"#]).joined(separator: ","))}"
    let error = try #require(throws: JSONError.self) { try JSONParser.parse(text) }
    #expect(error.code == .duplicateName)
  }

  @Test(
    "A number too large for a double is refused on request", arguments: ["1e309", "-1e400", String(repeating: "9", count: 400)])
  func finiteNumbers(_ text: String) throws {
    #expect(try JSONParser.parse(text).number?.double == nil)
    let error = try #require(throws: JSONError.self) {
      try JSONParser.parse(text, options: JSONParser.Options(requiresFiniteNumbers: true))
    }
    #expect(error.code == .numberNotFinite)
    #expect(throws: Never.self) { try JSONParser.parse("1e308", options: JSONParser.Options(requiresFiniteNumbers: true)) }
  }
}
