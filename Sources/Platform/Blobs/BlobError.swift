/// Why a blob was not stored, read or removed. The message is for logs: it holds neither keys nor signatures.
public struct BlobError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name in logs and metrics.
    public let description: String

    /// There is no such blob.
    public static let notFound = Code(description: "not_found")
    /// It is larger than it may be.
    public static let tooLarge = Code(description: "too_large")
    /// What came is not what its name says: bytes were lost or changed on the way.
    public static let corrupt = Code(description: "corrupt")
    /// What was asked cannot be: a media type that is none, a lifetime out of bounds. Nothing was done.
    public static let invalid = Code(description: "invalid")
    /// This store cannot do that.
    public static let unsupported = Code(description: "unsupported")
    /// The store's settings are wrong: the account, the bucket, the region or the clock.
    public static let refused = Code(description: "refused")
    /// The store is away, or too busy; trying again later makes sense.
    public static let unavailable = Code(description: "unavailable")
    /// The source of the content broke off.
    public static let sourceFailed = Code(description: "source_failed")
    /// Nobody waits any more.
    public static let cancelled = Code(description: "cancelled")
  }

  /// The kind of failure.
  public let code: Code
  /// What was tried and how it failed.
  public let message: String
  /// When another attempt makes sense, if the store says so.
  public let retryAfter: Duration?

  /// An error of the given kind.
  public init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
  }

  /// The code and the message.
  public var description: String { "\(code): \(message)" }
}
