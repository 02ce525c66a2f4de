/// Why Apple's token endpoints did not do what they were asked for.
public struct AppleTokenError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure; new kinds may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The word that stands for the kind in logs.
    public let description: String

    /// The endpoint could not be reached, or not in time, or it is not well.
    public static let unavailable = Code(description: "unavailable")
    /// The code or token is not valid: used, expired, revoked, or another client's.
    public static let invalidGrant = Code(description: "invalid_grant")
    /// It refused for another reason: the credential, the client id, the request.
    public static let refused = Code(description: "refused")
    /// Its answer cannot be read.
    public static let malformed = Code(description: "malformed_answer")
    /// The client secret could not be signed.
    public static let notSigned = Code(description: "not_signed")
    /// Nobody waits any more.
    public static let cancelled = Code(description: "cancelled")
  }

  /// The kind of failure.
  public let code: Code
  /// More about it, safe to log: a status, an OAuth error code, a kind of network failure.
  public let detail: String

  /// A failure.
  public init(_ code: Code, detail: String = "") {
    self.code = code
    self.detail = detail
  }

  /// Kind and detail.
  public var description: String { detail.isEmpty ? code.description : "\(code): \(detail)" }
}
