public import Values

/// Names an export or a deletion.
public struct AccountWorkID: Identifier {
  /// The first 8 bytes.
  public let high: UInt64
  /// The last 8 bytes.
  public let low: UInt64

  /// An identifier from its bytes.
  public init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }
}

/// What is done for a person over all services, and how far it has come.
public struct AccountWork: Sendable, Hashable {
  /// What is done.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Gathering what is kept.
    case export
    /// Deleting it.
    case deletion
  }

  /// Its identifier.
  public var id: AccountWorkID
  /// Whose account.
  public var user: UserID
  /// The app that the account belongs to.
  public var app: String
  /// What is done.
  public var kind: Kind
  /// When it was asked for.
  public var createdAt: Instant
  /// When it ended; nil while it runs.
  public var doneAt: Instant?
  /// Why it was given up, in a word; empty unless it was.
  public var failure: String
  /// Until when an export can be downloaded.
  public var expiresAt: Instant?
  /// How many bytes an export has.
  public var byteCount: Int64
  /// Its parts, in their order.
  public var steps: [Step]

  /// Work that was asked for.
  public init(
    id: AccountWorkID, user: UserID, app: String, kind: Kind, createdAt: Instant, doneAt: Instant? = nil, failure: String = "",
    expiresAt: Instant? = nil, byteCount: Int64 = 0, steps: [Step] = []
  ) {
    self.id = id
    self.user = user
    self.app = app
    self.kind = kind
    self.createdAt = createdAt
    self.doneAt = doneAt
    self.failure = failure
    self.expiresAt = expiresAt
    self.byteCount = byteCount
    self.steps = steps
  }

  /// The part of one service or provider. A part that is done is never done again.
  public struct Step: Sendable, Hashable {
    /// Whose part it is.
    public var name: StepName
    /// When it was done; nil while it is not.
    public var doneAt: Instant?
    /// How often it was tried.
    public var attempts: Int
    /// Why the last attempt failed, in a word; empty when it did not.
    public var failure: String
    /// What was deleted and kept, or handed out.
    public var counts: [Count]

    /// A part.
    public init(_ name: StepName, doneAt: Instant? = nil, attempts: Int = 0, failure: String = "", counts: [Count] = []) {
      self.name = name
      self.doneAt = doneAt
      self.attempts = attempts
      self.failure = failure
      self.counts = counts
    }
  }

  /// How much of a kind was deleted, and how much is still there.
  public struct Count: Sendable, Hashable {
    /// What.
    public var kind: String
    /// How many were deleted.
    public var deleted: Int64
    /// How many are there.
    public var held: Int64
    /// Why they stay, in a sentence; empty for what does not.
    public var whyHeld: String

    /// A count.
    public init(_ kind: String, deleted: Int64 = 0, held: Int64 = 0, whyHeld: String = "") {
      self.kind = kind
      self.deleted = deleted
      self.held = held
      self.whyHeld = whyHeld
    }
  }

  /// Whether anybody may download it.
  public func canBeDownloaded(at now: Instant) -> Bool {
    guard kind == .export, doneAt != nil, failure.isEmpty, let expiresAt else { return false }
    return now < expiresAt
  }
}
