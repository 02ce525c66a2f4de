import JSON

/// Keeps the record of somebody who is being set up, across restarts of the app, until it has been pushed.
///
/// There are two entries: what is going on (`onboarding_v3_progress`) and what is complete and waits to be pushed
/// (`onboarding_v3_completed`). A complete record wins over one that is going on; which it is, the record says itself, wherever it
/// is kept.
public struct OnboardingStore: Sendable {
  /// The entry of a record that is going on.
  public static let progressKey = "onboarding_v3_progress"
  /// The entry of a record that is complete and has not been pushed.
  public static let completedKey = "onboarding_v3_completed"
  /// The entry of a submission that is durable at the service and is still followed.
  static let deliveryKey = "onboarding_v3_delivery"

  private let entries: any KeyValueStore

  /// A store over entries: ``FileKeyValueStore`` to survive restarts.
  public init(_ entries: any KeyValueStore) { self.entries = entries }

  /// Writes the record under the entry where it belongs for now.
  ///
  /// - Throws: ``OnboardingError`` with ``OnboardingError/Code/filePath``, and nothing is written; the store's own failure.
  public func save(_ data: StoredOnboardingData) async throws {
    try data.checkValues()
    try await entries.save(data.json.encoded(), as: Self.progressKey)
  }

  /// Writes the record as complete, and then forgets what was going on.
  ///
  /// - Throws: As ``save(_:)``.
  public func saveCompleted(_ data: StoredOnboardingData) async throws {
    try data.checkValues()
    try await entries.save(data.json.encoded(), as: Self.completedKey)
    // A crash before this leaves both, of which the complete one counts.
    try await entries.remove(Self.progressKey)
  }

  /// The record that counts: a complete one, else the one that is going on, else nil.
  ///
  /// - Throws: ``OnboardingError`` with ``OnboardingError/Code/unreadable``: what cannot be read is not taken for nothing.
  public func load() async throws -> StoredOnboardingData? { try await snapshot()?.data }

  /// Forgets the record, complete or not.
  public func clear() async throws {
    try await entries.remove(Self.completedKey)
    try await entries.remove(Self.progressKey)
  }

  // MARK: What a push needs

  /// A record with the bytes that it was read from.
  struct Snapshot: Sendable {
    let data: StoredOnboardingData
    let entries: [String: [UInt8]]
  }

  func snapshot() async throws -> Snapshot? {
    var found: [String: [UInt8]] = [:]
    var records: [(data: StoredOnboardingData, key: String)] = []
    for key in [Self.completedKey, Self.progressKey] {
      guard let bytes = try await entries.load(key) else { continue }
      found[key] = bytes
      records.append((try StoredOnboardingData(json: bytes), key))
    }
    // An entry may have been written by a version that set no flag, or by a crash between two entries: the flag decides.
    let counts = records.first { $0.data.isCompleted == true } ?? records.last
    return counts.map { Snapshot(data: $0.data, entries: found) }
  }

  /// Forgets what was pushed, but nothing that was written since it was read.
  func clear(_ snapshot: Snapshot) async throws {
    for (key, bytes) in snapshot.entries {
      _ = try await entries.update(key) { present in present == bytes ? nil : present }
    }
  }

  func delivery() async throws -> Delivery? { try await entries.load(Self.deliveryKey).flatMap(Delivery.init) }

  func save(_ delivery: Delivery) async throws { try await entries.save(delivery.bytes, as: Self.deliveryKey) }

  /// Forgets a submission, unless it is another one by now.
  func forget(_ delivery: Delivery) async throws {
    _ = try await entries.update(Self.deliveryKey) { present in
      present.flatMap(Delivery.init)?.submissionID == delivery.submissionID ? nil : present
    }
  }
}
