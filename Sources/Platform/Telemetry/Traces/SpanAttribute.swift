/// The value of one attribute of a span.
public enum SpanAttribute: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral
{
  /// Text.
  case string(String)
  /// A whole number.
  case int(Int64)
  /// A number.
  case double(Double)
  /// Yes or no.
  case bool(Bool)

  /// Text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A whole number.
  public init(integerLiteral value: Int64) { self = .int(value) }
  /// Yes or no.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}

/// Which side of which boundary a span is.
public enum SpanKind: Int32, Sendable, Hashable {
  /// Within a process.
  case `internal` = 1
  /// Serves a request.
  case server = 2
  /// Makes a request.
  case client = 3
}

/// A span that has ended, as it is exported.
public struct SpanRecord: Sendable {
  /// Where it stands.
  public let context: SpanContext
  /// The span on whose behalf it was, or nil for the first of a trace.
  public let parent: SpanContext?
  /// What was done, out of a small set of names.
  public let name: String
  /// Which side of which boundary it was.
  public let kind: SpanKind
  /// Nanoseconds since 1970.
  public let start: UInt64
  /// Nanoseconds since 1970.
  public let end: UInt64
  /// What is known of it, by unique names.
  public let attributes: [(name: String, value: SpanAttribute)]
  /// Attributes beyond the limit.
  public let droppedAttributes: Int
  /// Why it failed, for a developer; nil when it did not.
  public let failure: String?

  /// The attribute of that name.
  public subscript(name: String) -> SpanAttribute? { attributes.first { $0.name == name }?.value }
}

/// Where spans go that have ended. Called on whatever thread they end on, and never to block it.
public protocol SpanSink: Sendable {
  /// Takes a span, or leaves it out.
  func take(_ span: SpanRecord)
}
