internal import Limits
internal import ServiceKit
internal import Synchronization
internal import Values

/// Writes down what people without an account say. Addresses cost nothing: so all of them together have one bound, whoever they are.
///
/// They wait for each other, and nobody else waits for them: their recordings are read with a thread of their own, a few are worked on at
/// once, whatever their size, and the others are sent away at once.
final class StrangerDesk: Sendable {
  /// How many are worked on at once. A place is taken when the recording is there: who sends one slowly keeps nobody out.
  static let most = 8

  private let transcription: TranscriptionDesk
  private let limiter: any RateLimiter
  private let rate: BucketRate
  private let now: @Sendable () -> Instant
  private let inside = Mutex(0)

  /// - Parameters:
  ///   - transcription: What knows recordings of strangers, and has its own thread for them.
  ///   - limiter: What counts them, in all copies of the service together.
  ///   - perMinute: How many there may be in a minute, and at once.
  ///   - now: The time.
  init(
    _ transcription: TranscriptionDesk, _ limiter: any RateLimiter, perMinute: Int, now: @escaping @Sendable () -> Instant
  ) {
    self.transcription = transcription
    self.limiter = limiter
    rate = BucketRate(perMinute: perMinute, burst: perMinute)
    self.now = now
  }

  /// Judges whether somebody may send a recording.
  ///
  /// - Throws: ``OnboardingRefusal/tooManyStrangers(wait:)`` when there have been enough in this minute.
  func admit() async throws {
    guard let until = try await limiter.take("strangers", rate, at: now()).refusedUntil else { return }
    throw OnboardingRefusal.tooManyStrangers(wait: until.duration(since: now()))
  }

  /// Takes a place for a recording that is there, until ``leave()``.
  ///
  /// - Returns: What writes it down.
  /// - Throws: ``OnboardingRefusal/strangersBusy`` while there is none.
  func enter() throws -> TranscriptionDesk {
    let isIn = inside.withLock { count in
      guard count < Self.most else { return false }
      count += 1
      return true
    }
    guard isIn else { throw OnboardingRefusal.strangersBusy }
    return transcription
  }

  /// Gives a place back.
  func leave() { inside.withLock { $0 -= 1 } }
}
