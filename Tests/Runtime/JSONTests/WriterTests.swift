import JSON
import Testing

@Suite("The JSON writer")
struct WriterTests {
  func text(isPretty: Bool = false, _ write: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter(isPretty: isPretty)
    write(&writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  @Test("Members and elements are separated, whatever their kind")
  func compact() {
    let written = text { writer in
      writer.beginObject()
      writer.name("a")
      writer.int(1)
      writer.name("b")
      writer.beginArray()
      writer.null()
      writer.bool(true)
      writer.beginArray()
      writer.endArray()
      writer.beginObject()
      writer.endObject()
      writer.string("x")
      writer.verbatim(#"{"v":0}"#.utf8)
      writer.endArray()
      writer.name("c")
      writer.value(["d": [1, "e"], "f": [:]])
      writer.endObject()
    }
    #expect(written == #"{"a":1,"b":[null,true,[],{},"x",{"v":0}],"c":{"d":[1,"e"],"f":{}}}"#)
  }

  @Test("Pretty text is indented by two spaces and keeps empty containers on one line")
  func pretty() {
    let written = text(isPretty: true) { $0.value(["a": [1, [], [:]], "b": ["c": "d"]]) }
    #expect(
      written == """
        {
          "a": [
            1,
            [],
            {}
          ],
          "b": {
            "c": "d"
          }
        }
        """)
  }

  @Test(
    "Exactly the quote, the backslash and control characters are escaped",
    arguments: [
      ("", #""""#), ("plain", #""plain""#), ("\"\\/", #""\"\\/""#), ("\u{8}\t\n\u{C}\r", #""\b\t\n\f\r""#),
      ("\0\u{1}\u{B}\u{E}\u{1F}", #""\u0000\u0001\u000b\u000e\u001f""#),
      ("\u{20}\u{7F}\u{80}é€😀\u{2028}", "\" \u{7F}\u{80}é€😀\u{2028}\""),
      ("a\nb", #""a\nb""#),
    ])
  func escapes(_ value: String, _ expected: String) {
    #expect(text { $0.string(value) } == expected)
    #expect(JSONValue.string(value).description == expected)
    let bytes = Array(value.utf8)
    #expect(text { writer in bytes.withUnsafeBufferPointer { writer.string(utf8: $0) } } == expected)
  }

  @Test("Integers are written in full, quoted on request")
  func integers() {
    #expect(text { $0.int(Int64.min) } == "-9223372036854775808")
    #expect(text { $0.int(Int64.max, quoted: true) } == "\"9223372036854775807\"")
    #expect(text { $0.int(-1, quoted: true) } == "\"-1\"")
    #expect(text { $0.int(0) } == "0")
    #expect(text { $0.uint(.max) } == "18446744073709551615")
    #expect(text { $0.uint(.max, quoted: true) } == "\"18446744073709551615\"")
  }

  @Test(
    "Floating-point numbers are the shortest that read back",
    arguments: [
      (0.1, "0.1"), (1, "1"), (-2.5, "-2.5"), (-0.0, "-0"), (1e300, "1e+300"), (2.5e-308, "2.5e-308"), (100, "100"),
      (.infinity, "\"Infinity\""), (-.infinity, "\"-Infinity\""), (.nan, "\"NaN\""),
    ] as [(Double, String)])
  func doubles(_ value: Double, _ expected: String) {
    #expect(text { $0.double(value) } == expected)
  }

  @Test("A float is not widened before it is written")
  func float() {
    #expect(text { $0.float(0.1) } == "0.1")
    #expect(text { $0.float(.nan) } == "\"NaN\"")
  }

  @Test("One writer writes many lines and keeps its memory")
  func lines() {
    var writer = JSONWriter(appendingTo: Array("> ".utf8))
    writer.value(["a": 1])
    writer.endLine()
    writer.value([])
    writer.endLine()
    #expect(String(decoding: writer.bytes, as: UTF8.self) == "> {\"a\":1}\n[]\n")
    writer.removeAll()
    writer.bool(false)
    #expect(String(decoding: writer.bytes, as: UTF8.self) == "false")
  }
}
