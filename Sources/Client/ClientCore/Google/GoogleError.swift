public import JSON

/// Why one of Google's services did not do what it was asked, as its error document says.
public struct GoogleError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure: the HTTP status, or -1.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The number.
    public let rawValue: Int

    /// The code with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// There was no answer, or none that can be read.
    public static let noResponse = Code(rawValue: -1)
    /// Google did not accept the token, not even a new one.
    public static let unauthorized = Code(rawValue: 401)
    /// Too many requests, or the quota is used up.
    public static let rateLimited = Code(rawValue: 429)
  }

  /// The kind of failure.
  public let code: Code
  /// Google's name of it: `RESOURCE_EXHAUSTED`. Empty when it gave none.
  public let status: String
  /// What Google said, or what happened.
  public let message: String
  /// How long Google asks to wait.
  public let retryAfter: Duration?
  /// `error.details` as they came.
  public let details: [JSONValue]
  /// What led to it.
  public let cause: (any Error)?

  init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
    status = ""
    retryAfter = nil
    details = []
  }

  /// Reads a response that is no success: `{"error": {"code", "message", "status", "details"}}`, or an array with one of those.
  init(_ response: IncomingResponse) {
    let json = try? JSONParser.parse(response.body)
    let error = (json?.array?.first ?? json)?["error"]
    code = Code(rawValue: response.status)
    status = error?["status"]?.string ?? ""
    message = error?["message"]?.string ?? error?.string ?? "HTTP \(response.status) without an error document"
    details = error?["details"]?.array ?? []
    cause = nil
    let asked = details.first { $0["@type"]?.string?.hasSuffix("google.rpc.RetryInfo") == true }?["retryDelay"]?.string
    retryAfter = asked.flatMap(Self.duration) ?? response.headers["retry-after"].flatMap { Int($0) }.map { .seconds($0) }
  }

  /// A duration as protobuf's JSON writes it: `17s`, `1.5s`.
  static func duration(_ text: String) -> Duration? {
    guard text.hasSuffix("s"), let seconds = Double(text.dropLast()), seconds >= 0, seconds < 1e9 else { return nil }
    return .milliseconds(Int((seconds * 1000).rounded(.up)))
  }

  /// Number, name and message, for logs.
  public var description: String { "Google \(code.rawValue)\(status.isEmpty ? "" : " \(status)"): \(message)" }
}
