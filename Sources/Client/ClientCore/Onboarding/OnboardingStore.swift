import JSON

/// Keeps the record of somebody who is being set up, across restarts of the app, until it has been pushed.
///
/// There are two entries: what is going on (`onboarding_v3_progress`) and what is complete and waits to be pushed
/// (`onboarding_v3_completed`). A complete record wins over one that is going on. What is kept as complete is complete unless it
/// says that it is not; elsewhere the record has to say that it is.
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
  /// - Throws: ``OnboardingError`` as ``StoredOnboardingData/checkValues()``, and nothing is written; the store's own failure.
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
  /// - Throws: ``OnboardingError`` with ``OnboardingError/Code/unreadable``: what cannot be read is not taken for nothing. What
  ///   is going on is not looked at where there is a complete record.
  public func load() async throws -> StoredOnboardingData? { try await snapshot()?.data }

  /// Forgets the record, complete or not, and what was pushed.
  public func clear() async throws {
    for key in [Self.completedKey, Self.progressKey, Self.deliveryKey] { try await entries.remove(key) }
  }

  // MARK: What a push needs

  /// A record with the bytes of the entries as they were then; nil for one that was not there.
  struct Snapshot: Sendable {
    let data: StoredOnboardingData
    let entries: [String: [UInt8]?]
  }

  func snapshot() async throws -> Snapshot? {
    let complete = try await entries.load(Self.completedKey)
    var kept = try complete.map { try StoredOnboardingData(json: $0) }
    // Apps that set no flag keep nothing here but what is complete.
    if kept?.isCompleted == nil { kept?.isCompleted = true }
    if let kept, kept.isCompleted == true {
      var found: [String: [UInt8]?] = [Self.completedKey: complete]
      // Whatever state it is in, it goes away together with the record that it led to.
      do { found.updateValue(try await entries.load(Self.progressKey), forKey: Self.progressKey) } catch {
        // What cannot even be loaded is left alone: it is not what was pushed.
      }
      return Snapshot(data: kept, entries: found)
    }
    let goingOn = try await entries.load(Self.progressKey)
    guard let data = try goingOn.map({ try StoredOnboardingData(json: $0) }) ?? kept else { return nil }
    return Snapshot(data: data, entries: [Self.completedKey: complete, Self.progressKey: goingOn])
  }

  /// Forgets what was pushed, but nothing that was written since it was read.
  func clear(_ snapshot: Snapshot) async throws {
    for (key, bytes) in snapshot.entries {
      _ = try await entries.update(key) { present in present == bytes ? nil : present }
    }
  }

  func delivery() async throws -> Delivery? { try await entries.load(Self.deliveryKey).flatMap(Delivery.init) }

  func save(_ delivery: Delivery) async throws { try await entries.save(delivery.bytes, as: Self.deliveryKey) }

  /// Notes how far a submission was seen to have come, unless it was forgotten or is another one by now.
  func advance(_ delivery: Delivery) async throws {
    _ = try await entries.update(Self.deliveryKey) { present in
      present.flatMap(Delivery.init)?.submissionID == delivery.submissionID ? delivery.bytes : present
    }
  }

  /// Forgets a submission, unless it is another one by now.
  func forget(_ delivery: Delivery) async throws {
    _ = try await entries.update(Self.deliveryKey) { present in
      present.flatMap(Delivery.init)?.submissionID == delivery.submissionID ? nil : present
    }
  }
}
