/// What travels between processes with everything that is done on behalf of one request: W3C Trace Context, level 1.
public struct SpanContext: Sendable, Hashable {
  /// The trace.
  public let traceID: TraceID
  /// The span that asks for the work.
  public let spanID: SpanID
  /// Whether the trace is recorded.
  public let isSampled: Bool
  /// What others have put along, passed on as it came; empty for nothing.
  public let state: String
  /// Whether it came from another process.
  public let isRemote: Bool

  init(traceID: TraceID, spanID: SpanID, isSampled: Bool, state: String = "", isRemote: Bool = false) {
    self.traceID = traceID
    self.spanID = spanID
    self.isSampled = isSampled
    self.state = state
    self.isRemote = isRemote
  }

  /// The header, and the metadata, that carries trace, span and flags.
  public static let parentHeader = "traceparent"
  /// The header, and the metadata, that carries ``state``.
  public static let stateHeader = "tracestate"

  /// Reads what a caller sent (W3C Trace Context, 3.2 and 3.3). Nil when `parent` is not valid; a `state` that is not is left
  /// out, as one that more than 32 vendors have written.
  public init?(parent: String, state: String? = nil) {
    // Version, 32 digits, 16 digits, 2 digits; a later version may go on behind another hyphen.
    let bytes = Array(parent.utf8)
    guard bytes.count >= 55, bytes[2] == Self.hyphen, bytes[35] == Self.hyphen, bytes[52] == Self.hyphen,
      let version = Hexadecimal.read(bytes[..<2]), version != 0xff, let flags = Hexadecimal.read(bytes[53..<55]),
      version == 0 ? bytes.count == 55 : bytes.count == 55 || bytes[55] == Self.hyphen,
      let high = Hexadecimal.read(bytes[3..<19]), let low = Hexadecimal.read(bytes[19..<35]),
      let span = Hexadecimal.read(bytes[36..<52]), let traceID = TraceID(high: high, low: low), let spanID = SpanID(span)
    else { return nil }
    self.init(
      traceID: traceID, spanID: spanID, isSampled: flags & 1 == 1, state: Self.valid(state ?? ""), isRemote: true)
  }

  /// The value of ``parentHeader``.
  public var parent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

  private static let hyphen = UInt8(ascii: "-")

  /// At most 32 members and 512 characters that a header may hold; what exceeds it is not cut but left out, since half a list
  /// says something else.
  private static func valid(_ state: String) -> String {
    let bytes = state.utf8
    guard bytes.count <= 512, bytes.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else { return "" }
    let members = state.split(separator: ",").filter { $0.contains { $0 != " " } }
    guard members.count <= 32, members.allSatisfy({ $0.contains("=") }) else { return "" }
    return state
  }
}
