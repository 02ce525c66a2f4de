import JSON
import Testing

@Suite("What the JSON parser reads")
struct ParserAcceptanceTests {
  static let texts: [(String, JSONValue)] = [
    ("null", .null), ("true", true), ("false", false), ("0", 0), ("-7", -7), (#""""#, ""), ("[]", []), ("{}", [:]),
    (" \t\r\n[ 1 , 2 ] \n", [1, 2]),
    (#"{ "a" : { "b" : [ ] } , "c" : "d" }"#, ["a": ["b": []], "c": "d"]),
    (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
    (#""\u0041\u00e9\u20AC\uFFFF\u0000""#, "A\u{E9}\u{20AC}\u{FFFF}\0"),
    (#""\ud83d\ude00\uD800\uDC00\udbff\udfff""#, "\u{1F600}\u{10000}\u{10FFFF}"),
    ("\"\u{7F}\u{2028}\u{FEFF}é\u{10FFFF}\"", "\u{7F}\u{2028}\u{FEFF}é\u{10FFFF}"),
    (#"{"":{"":""}}"#, ["": ["": ""]]),
    (#"[[[[[1]]]],{"a":[{}]}]"#, [[[[[1]]]], ["a": [[:]]]]),
  ]

  @Test("A text of the grammar is read as it is meant", arguments: texts)
  func reading(_ text: String, _ expected: JSONValue) throws {
    #expect(try JSONParser.parse(text) == expected)
    let bytes = Array(text.utf8)
    #expect(try JSONParser.parse(bytes.span) == expected)
    #expect(try bytes.withUnsafeBytes { try JSONParser.parse($0) } == expected)
  }

  @Test("The last of equal names counts on request, at the first one's place", arguments: [2, 40])
  func lastWins(_ count: Int) throws {
    let middle = (0..<count).map { #""n\#($0)":0,"# }.joined()
    let value = try JSONParser.parse(
      #"{"a":1,\#(middle)"a":[2]}"#, options: JSONParser.Options(duplicateNames: .lastWins))
    #expect(value["a"] == [2])
    #expect(value.object?.count == count + 1)
    #expect(value.object?.members.first?.name == "a")
  }

  @Test("Names and strings that are canonically equivalent are different")
  func bytesNotCharacters() throws {
    let value = try JSONParser.parse("{\"K\":1,\"\u{212A}\":2,\"e\u{301}\":3,\"\u{E9}\":4}")
    #expect(value["K"] == 1)
    #expect(value["\u{212A}"] == 2)
    #expect(value["\u{E9}"] == 4)
    #expect(JSONValue.string("K") != JSONValue.string("\u{212A}"))
    #expect(JSONValue.string("K").hashValue != JSONValue.string("\u{212A}").hashValue)
    #expect(Set<JSONValue>(["\u{E9}", "e\u{301}"]).count == 2)
  }

  @Test("Members keep their order and are found among hundreds", arguments: [1, 15, 16, 17, 300])
  func manyMembers(_ count: Int) throws {
    var object = JSONObject()
    for index in 0..<count { object["name\(index)"] = .number(JSONNumber(index)) }
    #expect(object.members.map(\.name) == (0..<count).map { "name\($0)" })
    for index in 0..<count { #expect(object["name\(index)"]?.int64 == Int64(index)) }
    #expect(object["name\(count)"] == nil)
    object["name0"] = nil
    object["new"] = true
    object["name0"] = "back"
    #expect(object.count == count + 1)
    #expect(object["new"] == true)
    #expect(object["name0"] == "back")
    for index in 1..<max(1, count) { #expect(object["name\(index)"]?.int64 == Int64(index)) }
  }

  @Test("A hundred thousand members are read in linear time")
  func hugeObject() throws {
    let text = "{" + (0..<100_000).map { #""\#($0)":0"# }.joined(separator: ",") + "}"
    var value: JSONValue = .null
    let time = try ContinuousClock().measure { value = try JSONParser.parse(text) }
    #expect(value.object?.count == 100_000)
    // Quadratic search would compare five thousand million names: minutes. The bound is loose for a busy machine.
    #expect(time < .seconds(20))
  }
}
