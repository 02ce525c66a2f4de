public import Values

/// A request with a key of its own, and one run of it.
public struct RequestClaim: Sendable, Hashable {
  /// Whose request it is.
  public let userID: UUID
  /// The path of the method, without the leading slash.
  public let method: String
  /// The caller's key, 1 to 64 characters.
  public let key: String
  /// SHA-256 of the request.
  public let hash: [UInt8]
  /// This run, and no other.
  public let run: UUID
  /// Until when the run is believed to be alive.
  public let leaseUntil: Instant
  /// Until when its answer is kept.
  public let expiresAt: Instant

  /// A run of a request.
  public init(
    userID: UUID, method: String, key: String, hash: [UInt8], run: UUID, leaseUntil: Instant, expiresAt: Instant
  ) {
    (self.userID, self.method, self.key, self.hash, self.run) = (userID, method, key, hash, run)
    (self.leaseUntil, self.expiresAt) = (leaseUntil, expiresAt)
  }
}

/// What was answered to a request.
public struct StoredAnswer: Sendable, Hashable {
  /// The code of its status; 0 is a response.
  public let status: Int
  /// The response, or the status with its details; nil when it was too large to be kept.
  public let bytes: [UInt8]?

  /// An answer.
  public init(status: Int, bytes: [UInt8]?) { (self.status, self.bytes) = (status, bytes) }
}
