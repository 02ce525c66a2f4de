public import EventLoop
public import Logging

/// Asks a provider again where that may help: up to three times before a deadline, with pauses that double.
///
/// It is for requests that the outbound client cannot repeat by itself, because what they show is dated, or because only the body of
/// the answer says whether another attempt may go better.
public struct Attempts: Sendable {
  /// How one attempt ended.
  public enum Outcome<Value, Failure: Error> {
    /// With what was wanted.
    case success(Value)
    /// Without; `again` is the least pause before another attempt, nil when there is no use in one.
    case failure(Failure, again: Duration?)
  }

  private static let most = 3

  private let title: Logger.Message
  private let pause: Duration
  private let share: Double
  private let spread: Double
  private let clock: ProviderClock
  private let log: Logger

  /// Attempts of one kind.
  ///
  /// - Parameters:
  ///   - title: What the log calls a repetition.
  ///   - pause: The first pause; each further one is twice as long.
  ///   - share: The least part of a pause that is waited.
  ///   - spread: How much is added to that part at random, at most.
  ///   - clock: Time and chance.
  ///   - log: Who is told of failed attempts.
  public init(_ title: Logger.Message, pause: Duration, share: Double, spread: Double, clock: ProviderClock, log: Logger) {
    self.title = title
    self.pause = pause
    self.share = share
    self.spread = spread
    self.clock = clock
    self.log = log
  }

  /// What the first attempt brings that succeeds.
  ///
  /// - Parameters:
  ///   - deadline: No attempt begins after it.
  ///   - cancelled: What is thrown when nobody waits any more.
  ///   - ask: One attempt. What it throws ends them all.
  /// - Throws: What the last attempt failed with.
  public func run<Value, Failure: Error>(
    until deadline: MonotonicInstant, cancelled: Failure,
    _ ask: () async throws(Failure) -> Outcome<Value, Failure>
  ) async throws(Failure) -> Value {
    var attempt = 1
    while true {
      let (failure, least): (Failure, Duration?)
      switch try await ask() {
      case .success(let value): return value
      case .failure(let error, let again): (failure, least) = (error, again)
      }
      guard let least, attempt < Self.most else { throw failure }
      let wait = max(least, pause * (1 << (attempt - 1)) * (share + spread * clock.random()))
      guard clock.now().advanced(by: wait) < deadline else { throw failure }
      log.warning(title, metadata: ["attempt": "\(attempt)", "error": "\(failure)", "pause": "\(wait)"])
      do { try await clock.sleep(wait) } catch { throw cancelled }
      attempt += 1
    }
  }
}
