/// Why RevenueCat gave no answer that can be used. Nothing in it is secret.
public struct RevenueCatError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name in logs and metrics.
    public let description: String

    /// No answer, or one that says that it will pass: worth another attempt later.
    public static let unavailable = Code(description: "unavailable")
    /// RevenueCat will not answer this question: the key is wrong, or the id is.
    public static let refused = Code(description: "refused")
    /// The answer is not what it should be.
    public static let malformed = Code(description: "malformed")
    /// Nobody waits any more.
    public static let cancelled = Code(description: "cancelled")
  }

  /// The kind.
  public let code: Code
  /// What happened: a status, RevenueCat's number for the error, a kind of network failure.
  public let detail: String

  /// An error.
  public init(_ code: Code, detail: String = "") {
    self.code = code
    self.detail = detail
  }

  /// The kind and the detail.
  public var description: String { detail.isEmpty ? "\(code)" : "\(code): \(detail)" }
}
