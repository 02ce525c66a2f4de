public import Logging
public import RPC
internal import Synchronization

/// The name of a call in all logs of all services that it passes: the caller's `x-request-id`, or one made here.
public enum RequestID: CallValueKey {
  /// The id's text.
  public typealias Value = String

  /// The metadata that carries it.
  public static let header = "x-request-id"

  /// The id of a call; made when nobody gave it one, and the same for the rest of the call.
  public static func of(_ call: any ServerCall) -> String {
    if let known = known(of: call) { return known }
    let made = make()
    call[RequestID.self] = made
    return made
  }

  /// The id of a call that has one already. A caller's id counts only when it is 1 to 64 letters, digits or `-_.:`.
  static func known(of call: any ServerCall) -> String? { known(of: call, call.values) }

  /// The same, for who has the call's values.
  static func known(of call: any ServerCall, _ values: CallValues) -> String? {
    if !values.isEmpty, let made = values[RequestID.self] { return made }
    guard let given = call.requestIDText, isValid(given) else { return nil }
    return given
  }

  /// Puts `request_id`, `trace_id` and `span_id` into every line that is logged while a call is served, and the last two also
  /// into those of any other work that has a span.
  public static let metadataProvider = Logger.MetadataProvider {
    var fields: Logger.Metadata = [:]
    let call = CallContext.current?.call
    if let call { fields["request_id"] = .string(of(call)) }
    if let context = Span.current?.context ?? call.flatMap(Tracer.incoming) {
      fields["trace_id"] = .string(context.traceID.description)
      fields["span_id"] = .string(context.spanID.description)
    }
    return fields
  }

  private static func isValid(_ id: String) -> Bool {
    (1...64).contains(id.utf8.count)
      && id.utf8.allSatisfy {
        ($0 >= 0x30 && $0 <= 0x3a) || ($0 >= 0x41 && $0 <= 0x5a) || ($0 >= 0x61 && $0 <= 0x7a) || $0 == 0x2d || $0 == 0x2e
          || $0 == 0x5f
      }
  }

  private static func make() -> String {
    let (high, low) = (UInt64.random(in: 0...UInt64.max), UInt64.random(in: 0...UInt64.max))
    func hex(_ value: UInt64) -> String {
      let digits = String(value, radix: 16)
      return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
    return hex(high) + hex(low)
  }
}
