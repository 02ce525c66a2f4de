internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import Logging
internal import PostgreSQL

/// Gets tokens for the codes of sign-ins, and keeps all tokens sealed with the first key. Any number of copies may work beside each
/// other.
struct AppleGrantWorker: Sendable {
  private static let batch = 8
  private static let pause = Duration.seconds(1)
  private static let rewrapInterval = Duration.seconds(60)

  let grants: AppleGrants
  let loop: EventLoop
  let log: Logger

  /// Works until it is cancelled.
  func run() async throws {
    var rewrapDue = MonotonicInstant.now()
    while true {
      do throws(DatabaseError) {
        if MonotonicInstant.now() >= rewrapDue {
          try await grants.rewrap()
          rewrapDue = MonotonicInstant.now().advanced(by: Self.rewrapInterval)
        }
        // A full batch: more may wait.
        if try await grants.exchangeCodes(atMost: Self.batch) == Self.batch { continue }
      } catch {
        try Task.checkCancellation()
        log.warning("grants of Apple's not looked after", metadata: ["cause": "\(error)"])
      }
      try await loop.sleep(for: Self.pause)
    }
  }
}
