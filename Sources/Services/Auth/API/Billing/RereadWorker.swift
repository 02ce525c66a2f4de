internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import Logging
internal import Values

/// Asks RevenueCat about the accounts that events left word about, until it has answered.
///
/// One account at a time: RevenueCat bears about one question a second. Any number of copies may work beside each other.
struct RereadWorker: Sendable {
  private static let batch = 8
  private static let pause = Duration.seconds(1)

  let queue: RereadQueue
  let desk: SubscriberDesk
  let patience: Duration
  let loop: EventLoop
  let log: Logger
  let now: @Sendable () -> Instant

  /// Works until it is cancelled.
  func run() async throws {
    while true {
      do {
        // A full batch: more may wait.
        if try await work() == Self.batch { continue }
      } catch is CancellationError { throw CancellationError() } catch {
        log.warning("RevenueCat's customers not looked after", metadata: ["cause": "\(error)"])
      }
      try await loop.sleep(for: Self.pause)
    }
  }

  private func work() async throws -> Int {
    // Long enough for all of a batch to run out of patience.
    let turns = try await queue.claim(atMost: Self.batch, for: patience * (Self.batch + 1), at: now())
    for turn in turns {
      try Task.checkCancellation()
      do throws(BillingRefusal) {
        _ = try await desk.ask(about: turn.user, as: turn.customer ?? CustomerID(turn.user), within: patience)
      } catch  where error.kind == .busy {
        // Not asked, so not failed: it goes to the end of the line, which moves by a question a second.
        try await queue.giveBack(turn.user, until: now().advanced(by: error.retryAfter ?? .seconds(1)))
      } catch {
        let wait = RereadBackoff.delay(after: turn.attempts, chance: Double.random(in: 0..<1))
        try await queue.postpone(turn.user, until: now().advanced(by: wait))
        log.warning(
          "RevenueCat is to be asked again", metadata: ["user": "\(turn.user)", "attempts": "\(turn.attempts)", "in": "\(wait)"])
      }
    }
    return turns.count
  }
}
