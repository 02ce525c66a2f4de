public import Values

/// What keeps calls from having RevenueCat asked about an account again, after an answer that was "no" or after none.
public struct AskingPause: Sendable, Hashable {
  /// How many times in a row nothing was to be opened; an event about the account, or a "yes", begins anew.
  public var attempts: Int
  /// RevenueCat is not asked on behalf of a call before this; nil when it may be.
  public var endsAt: Instant?
  /// Whether the last question had no answer: nobody can say, rather than "no".
  public var hasFailed: Bool

  /// A pause; without arguments, none.
  public init(attempts: Int = 0, endsAt: Instant? = nil, hasFailed: Bool = false) {
    self.attempts = attempts
    self.endsAt = endsAt
    self.hasFailed = hasFailed
  }

  /// When calls may have it asked again; nil for now.
  public func wait(at now: Instant) -> Instant? { endsAt.flatMap { $0 > now ? $0 : nil } }

  /// What follows a question that opened nothing.
  ///
  /// A "no" is doubled each time, up to ``longest``: somebody who has not paid may call all day, and a purchase is told by an event
  /// or by the app itself, which both end the pause. A failure is doubled up to ``longestFailure``: it says nothing of the person.
  ///
  /// - Parameters:
  ///   - now: The time of the answer, or of the failure.
  ///   - hasFailed: Whether there was no answer.
  ///   - first: The first pause.
  public func next(at now: Instant, hasFailed: Bool, first: Duration) -> AskingPause {
    let doubled = first * (1 << min(attempts, 20))
    let pause = min(doubled, max(first, hasFailed ? Self.longestFailure : Self.longest))
    return AskingPause(attempts: min(attempts, 1000) + 1, endsAt: now.advanced(by: pause), hasFailed: hasFailed)
  }

  /// The longest pause after a "no", unless the first one is longer.
  public static let longest = Duration.seconds(900)
  /// The longest pause after a failure, likewise.
  public static let longestFailure = Duration.seconds(60)
}
