internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import Logging
internal import PostgreSQL
internal import Synchronization

/// What operators have stopped, looked up all the time, so that nothing is asked of the cloud for a capability that is stopped.
///
/// It need not be right: the ledger looks at the switches again in the statement that puts a token on record, without which no
/// token leaves. So a copy that cannot read them here need not stop by itself, and a switch holds from the moment it is set.
final class KillSwitchWatch: StopWatching {
  /// The pause between two looks.
  static let interval = Duration.milliseconds(500)

  private let store: KillSwitchStore
  private let stopped = Mutex<Set<Switch>>([])

  private struct Switch: Hashable {
    let capability: String
    let subject: SubjectHash?
  }

  init(_ store: KillSwitchStore) { self.store = store }

  func isStopped(_ capability: String) -> Bool {
    isStopped(nil, capability)
  }

  func isStopped(_ subject: SubjectHash, _ capability: String) -> Bool {
    // As it is written in the database.
    isStopped(SubjectHash(subject.description), capability)
  }

  private func isStopped(_ subject: SubjectHash?, _ capability: String) -> Bool {
    stopped.withLock { stopped in
      !stopped.isEmpty
        && [KillSwitch.all, capability].contains { stopped.contains(Switch(capability: $0, subject: subject)) }
    }
  }

  /// Looks once.
  func refresh() async throws(DatabaseError) {
    let found = Set(
      try await store.all().lazy.filter(\.isStopped).map { Switch(capability: $0.capability, subject: $0.subject) })
    stopped.withLock { $0 = found }
  }

  /// Looks until it is cancelled.
  func run(on loop: EventLoop, _ log: Logger) async throws {
    var isFailing = false
    while true {
      do throws(DatabaseError) {
        try await refresh()
        isFailing = false
      } catch {
        if !isFailing { log.warning("kill switches not read", metadata: ["cause": "\(error)"]) }
        isFailing = true
      }
      try await loop.sleep(for: Self.interval)
    }
  }
}
