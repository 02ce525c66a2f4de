import EventLoop
import JSON
import Logging
import Telemetry
import Testing

@Suite("JSON log lines")
struct LoggingTests {
  private func logger(_ capture: Capture, level: Logger.Level = .info, provider: Logger.MetadataProvider? = nil) -> Logger {
    Logger(label: "parley.test") {
      JSONLogHandler(
        label: $0, sink: capture.sink, level: level, metadataProvider: provider, clock: { 1_795_231_232_123_456_789 })
    }
  }

  @Test("A line holds time, level, logger and message, then the metadata in order")
  func fields() throws {
    let capture = Capture()
    logger(capture).info("hello", metadata: ["b": "2", "a": .stringConvertible(1), "c": ["x", ["y": "z"]]])
    let text = String(decoding: capture.bytes(), as: UTF8.self)
    #expect(
      text == #"{"time":"2026-11-21T03:20:32.123Z","level":"info","logger":"parley.test","message":"hello","a":"1","b":"2","#
        + #""c":["x",{"y":"z"}]}"# + "\n")
  }

  @Test(
    "Dates are right at the ends of years and in leap years",
    arguments: [
      (0, "1970-01-01T00:00:00"), (951_782_399, "2000-02-28T23:59:59"), (951_782_400, "2000-02-29T00:00:00"),
      (4_107_542_399, "2100-02-28T23:59:59"), (4_107_542_400, "2100-03-01T00:00:00"), (1_798_761_599, "2026-12-31T23:59:59"),
    ])
  func dates(_ second: Int, _ expected: String) throws {
    let capture = Capture()
    Logger(label: "t") { JSONLogHandler(label: $0, sink: capture.sink, clock: { second * 1_000_000_000 + 7_000_000 }) }.info("x")
    #expect(try capture.lines()[0]["time"]?.string == expected + ".007Z")
  }

  @Test(
    "Whatever the text, the line is one line of valid JSON and says the same",
    arguments: [
      "\"quoted\" \\ back", "line\nfeed\r\ttab", "\u{0}\u{1}\u{1f}\u{7f}", "\u{2028}\u{2029}", "👩‍👩‍👧 漢字 ż", "</script>", "{\"a\":1}",
      "",
    ])
  func hostile(_ text: String) throws {
    let capture = Capture()
    logger(capture).info("\(text)", metadata: ["field": .string(text), "name \(text)": "x"])
    let bytes = capture.bytes()
    #expect(bytes.filter { $0 == 0x0a }.count == 1 && bytes.last == 0x0a)
    let object = try JSONParser.parse(bytes.dropLast().map { $0 })
    #expect(object["message"]?.string == text && object["field"]?.string == text && object["name \(text)"]?.string == "x")
  }

  @Test("What is below the level is not written and its message never built")
  func level() throws {
    let capture = Capture()
    let logger = logger(capture, level: .warning)
    var isBuilt = false
    func message() -> Logger.Message {
      isBuilt = true
      return "x"
    }
    logger.info(message())
    #expect(!isBuilt && capture.bytes().isEmpty)
    logger.warning(message())
    #expect(try isBuilt && capture.lines().count == 1)
  }

  @Test("A line's field wins over the logger's, which wins over the provider's; reserved names are moved aside")
  func precedence() throws {
    let capture = Capture()
    var logger = logger(capture, provider: .init { ["a": "provider", "b": "provider", "c": "provider"] })
    logger[metadataKey: "b"] = "logger"
    logger[metadataKey: "c"] = "logger"
    logger.info("m", metadata: ["c": "line", "message": "mine", "time": "mine"])
    let line = try capture.lines()[0]
    #expect(["a", "b", "c"].map { line[$0]?.string } == ["provider", "logger", "line"])
    #expect(
      line["message"]?.string == "m" && line["metadata.message"]?.string == "mine" && line["metadata.time"]?.string == "mine")
  }

  @Test("A long text is cut after 8 KiB")
  func long() throws {
    let capture = Capture()
    logger(capture).info(
      "\(String(repeating: "a", count: 8_192))", metadata: ["long": .string(String(repeating: "b", count: 8_193))])
    let line = try capture.lines()[0]
    #expect(line["message"]?.string?.utf8.count == 8_192)
    #expect(line["long"]?.string == String(repeating: "b", count: 8_192) + "… (8193 bytes)")
  }

  @Test("Lines of a loop are written together at the end of the tick, an error and all before it at once")
  func gathered() async throws {
    try await onLoop { group in
      let loop = group.loops[0]
      let capture = Capture()
      capture.sink.gather(on: group.loops)
      let logger = logger(capture)
      logger.info("one")
      logger.info("two")
      #expect(capture.bytes().isEmpty)
      // The next tick.
      try await loop.sleep(for: .milliseconds(1))
      #expect(try capture.lines().map { $0["message"]?.string } == ["one", "two"])
      logger.info("three")
      logger.error("four")
      #expect(try capture.lines().map { $0["message"]?.string } == ["three", "four"])
    }
  }

  @Test("Lines of several threads never mix")
  func threads() async throws {
    let capture = Capture()
    let logger = logger(capture)
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<4 {
        group.addTask { for number in 0..<100 { logger.info("\(task) \(number) \(String(repeating: "x", count: 600))") } }
      }
    }
    #expect(try capture.lines().count == 400)
  }
}
