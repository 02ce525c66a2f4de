import Telemetry
import Testing

@Suite("W3C Trace Context")
struct SpanContextTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let span = "00f067aa0ba902b7"

  @Test("A traceparent of version 00 is read, and written as it was", arguments: [("00", false), ("01", true)])
  func readAndWritten(_ flags: String, _ isSampled: Bool) throws {
    let text = "00-\(Self.trace)-\(Self.span)-\(flags)"
    let context = try #require(SpanContext(parent: text))
    #expect(context.traceID.description == Self.trace && context.spanID.description == Self.span)
    #expect(context.isSampled == isSampled && context.isRemote && context.parent == text)
    #expect(
      context.traceID.bytes.count == 16 && context.traceID.bytes[0] == 0x4b
        && context.spanID.bytes == [0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7])
  }

  @Test("Of the flags only the lowest bit counts", arguments: [("03", true), ("ff", true), ("fe", false)])
  func flags(_ flags: String, _ isSampled: Bool) {
    #expect(SpanContext(parent: "00-\(Self.trace)-\(Self.span)-\(flags)")?.isSampled == isSampled)
  }

  @Test(
    "A later version is read as far as it is known",
    arguments: ["01-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01-what-the-future-brings", "01-\(trace)-\(span)-01-"])
  func laterVersion(_ text: String) { #expect(SpanContext(parent: text)?.isSampled == true) }

  @Test(
    "What is no traceparent is none",
    arguments: [
      "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-01-more", "ff-\(trace)-\(span)-01",
      "01-\(trace)-\(span)-01more", "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
      "00-4BF92F3577B34DA6A3CE929D0E0E4736-\(span)-01", "00-\(trace)-\(span)-0g", "00_\(trace)_\(span)_01",
      "0x-\(trace)-\(span)-01", " 00-\(trace)-\(span)-01", "00-\(trace)é-\(span)-01",
    ])
  func refused(_ text: String) { #expect(SpanContext(parent: text) == nil) }

  @Test("A tracestate is passed on as it came")
  func state() {
    let state = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"
    #expect(SpanContext(parent: "00-\(Self.trace)-\(Self.span)-01", state: state)?.state == state)
  }

  @Test("A tracestate has at most 32 members and 512 characters")
  func stateLimits() {
    func state(_ text: String) -> String? { SpanContext(parent: "00-\(Self.trace)-\(Self.span)-01", state: text)?.state }
    let members = (1...32).map { "k\($0)=v" }.joined(separator: ",")
    #expect(state(members) == members && state(members + ",x=y") == "")
    let long = "k=" + String(repeating: "v", count: 510)
    #expect(state(long) == long && state(long + "v") == "")
    #expect(state("k=\u{1}") == "" && state("nonsense") == "" && state("k=é") == "")
  }

  @Test(
    "An endpoint is a URL with a host",
    arguments: [
      ("http://127.0.0.1:4317", "http://127.0.0.1:4317", false), ("http://collector", "http://collector:4317", false),
      ("https://otel.example.com/", "https://otel.example.com:4317", true), ("http://[::1]:1", "http://[::1]:1", false),
      ("https://[::1]", "https://[::1]:4317", true),
    ])
  func endpoint(_ text: String, _ canonical: String, _ isSecure: Bool) throws {
    let endpoint = try #require(TraceEndpoint(text))
    #expect(endpoint.description == canonical && endpoint.isSecure == isSecure)
  }

  @Test(
    "Anything else is no endpoint",
    arguments: [
      "", "collector:4317", "grpc://collector", "http://", "http://:4317", "http://a b", "http://a:0", "http://a:65536",
      "http://a:+1", "http://a:", "http://user@a", "http://a/path", "http://[::1", "http://[::1]x", "http://a?b",
    ])
  func noEndpoint(_ text: String) { #expect(TraceEndpoint(text) == nil) }
}
