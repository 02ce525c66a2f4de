public import Values

/// Who goes first. Within a priority it is the one that has been due the longest.
public enum JobPriority: Int16, Sendable, Hashable, CaseIterable {
  /// Somebody waits for it.
  case urgent = 0
  /// The ordinary case.
  case normal = 1
  /// May wait behind others.
  case low = 2
  /// When there is nothing else to do.
  case background = 3
}

/// A job that is to be enqueued; see ``JobKind/job(_:uniqueKey:user:notBefore:priority:)``.
public struct NewJob: Sendable {
  /// Its identifier, if it becomes a live job.
  public var id: UUID?
  /// The name of its kind.
  public var kind: String
  /// The version of the payload's form.
  public var version: Int
  /// The queue that it waits in.
  public var queue: String
  /// Who goes first.
  public var priority: JobPriority
  /// What it carries, at most 1 MiB.
  public var payload: [UInt8]
  /// How often it is tried.
  public var attempts: Int
  /// At most one live job of a kind has it.
  public var uniqueKey: String?
  /// Whose it is.
  public var user: UUID?
  /// When it may run at the earliest; nil: at once.
  public var notBefore: Instant?

  /// The longest payload in bytes: what is larger belongs into a table or an object store.
  public static var longestPayload: Int { 1 << 20 }
  /// The longest unique key in bytes of UTF-8.
  public static var longestUniqueKey: Int { 512 }
}

/// What became of a job that was to be enqueued.
public struct EnqueuedJob: Sendable, Hashable {
  /// The live job: the new one, or the one that has had the unique key before.
  public let id: UUID
  /// Whether it is new.
  public let isNew: Bool
}

enum JobName {
  static func isValid(_ name: String) -> Bool {
    guard let first = name.utf8.first, (97...122).contains(first), name.utf8.count <= 64 else { return false }
    return name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 46 || $0 == 95 || $0 == 45 }
  }
}
