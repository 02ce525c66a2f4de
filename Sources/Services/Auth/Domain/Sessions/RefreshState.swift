public import Values

/// What a session knows of its refresh tokens, and what becomes of one that is shown.
///
/// Every token serves once. Whoever shows one again has either not got the answer (a lost response), was slower than another
/// thread or process of the same app (a race), or has a copy (theft). The three are told apart by who shows what:
///
/// | shown | the successor | attempt | what happens |
/// |---|---|---|---|
/// | the current token | | any | it is exchanged |
/// | the one before | not used yet | the same | the same successor again |
/// | the one before | not used yet | another, within the race window | nothing is handed out |
/// | the one before | not used yet | another, later | a new successor; the unused one is a trap from now on |
/// | any other that was once issued: a trap, or two or more behind | | any | the session ends |
///
/// So of two holders of one token at most one gets past its next refresh: whoever of them shows a token that the other one has left
/// behind ends the session for both.
///
/// Which tokens were once issued need not be remembered: a token carries a seal that only this service can make (see
/// ``RefreshToken``), and it is judged before. Without it anybody who knows a session's identifier could end the session.
public struct RefreshState: Sendable, Hashable {
  /// The token that is to be shown next.
  public struct Current: Sendable, Hashable {
    /// How many were issued before it.
    public var generation: UInt32
    /// What it is known by.
    public var digest: Digest

    /// A token.
    public init(generation: UInt32, digest: Digest) {
      self.generation = generation
      self.digest = digest
    }
  }

  /// The token that the current one was exchanged for.
  public struct Spent: Sendable, Hashable {
    /// What it is known by.
    public var digest: Digest
    /// The attempt that it was exchanged by; nil when the client named none.
    public var attempt: Digest?
    /// When its successor was handed out last.
    public var at: Instant

    /// A token.
    public init(digest: Digest, attempt: Digest?, at: Instant) {
      self.digest = digest
      self.attempt = attempt
      self.at = at
    }
  }

  /// The token to be shown next.
  public private(set) var current: Current
  /// The one before it, if there was one.
  public private(set) var spent: Spent?
  /// When the session ends if it is not refreshed before.
  public private(set) var expiresAt: Instant
  /// When it ends in any case.
  public let endsAt: Instant
  /// Why it has ended, if it has.
  public private(set) var end: SessionEnd?

  /// A new session.
  ///
  /// - Parameters:
  ///   - digest: What its first token is known by.
  ///   - now: When it begins.
  ///   - rules: How long it lasts.
  public init(first digest: Digest, at now: Instant, rules: RefreshRules) {
    endsAt = now.advanced(by: rules.wholeLifetime)
    current = Current(generation: 0, digest: digest)
    expiresAt = min(now.advanced(by: rules.idleLifetime), endsAt)
  }

  /// A session as it was stored.
  public init(current: Current, spent: Spent?, expiresAt: Instant, endsAt: Instant, end: SessionEnd?) {
    self.current = current
    self.spent = spent
    self.expiresAt = expiresAt
    self.endsAt = endsAt
    self.end = end
  }

  /// What is to be done for whoever shows a token.
  public enum Action: Sendable, Hashable {
    /// Hand out the token of this generation. It was made for this session by this call.
    case handOut(generation: UInt32)
    /// Hand out the token of this generation once more.
    case repeatAnswer(generation: UInt32)
    /// Hand out nothing: somebody else was faster. Asking again makes sense after this time.
    case race(retryAfter: Duration)
    /// Hand out nothing: this call has ended the session.
    case end(SessionEnd)
    /// Hand out nothing: the session had ended before.
    case ended(SessionEnd)
    /// Hand out nothing: no such token was issued yet. Nothing has changed.
    case unknown
  }

  /// Judges a token that bears this session's seal, and goes on to the next state.
  ///
  /// - Parameters:
  ///   - generation: The generation that the token says.
  ///   - digest: What the token is known by.
  ///   - attempt: What the client's attempt is known by; nil when it names none.
  ///   - now: The time.
  ///   - rules: The lengths of time.
  ///   - successor: What the token's successor of a generation is known by, for this attempt; always the same for the same arguments.
  public mutating func present(
    generation: UInt32, digest: Digest, attempt: Digest?, at now: Instant, rules: RefreshRules,
    successor: (_ generation: UInt32) -> Digest
  ) -> Action {
    if let end { return .ended(end) }
    // The last generation is out of reach of a client that sleeps between two refreshes; it must not wrap around all the same.
    guard now < expiresAt, current.generation < .max else { return finish(.expired) }
    if digest == current.digest { return exchange(digest, attempt, now, rules, successor) }
    guard let spent, digest == spent.digest else {
      return generation > current.generation ? .unknown : finish(.refreshReused)
    }
    if let attempt, attempt == spent.attempt {
      // The race begins anew: this answer is on its way now, and must not become a trap before it arrives.
      self.spent?.at = now
      return .repeatAnswer(generation: current.generation)
    }
    // The clocks of two copies of the service differ a little, so "just now" may lie ahead; one that lies far ahead was noted by a
    // clock that has been set back since, and keeps nobody waiting.
    let age = now.duration(since: spent.at)
    guard age >= rules.raceWindow || age <= .zero - rules.raceWindow else { return .race(retryAfter: rules.raceWindow - age) }
    return exchange(digest, attempt, now, rules, successor)
  }

  /// Ends the session, unless it has ended already.
  ///
  /// - Returns: Whether this call has ended it.
  @discardableResult
  public mutating func end(_ cause: SessionEnd) -> Bool {
    guard end == nil else { return false }
    end = cause
    return true
  }

  /// Whether it can still be used at that time.
  public func isAlive(at now: Instant) -> Bool { end == nil && now < expiresAt }

  private mutating func exchange(
    _ digest: Digest, _ attempt: Digest?, _ now: Instant, _ rules: RefreshRules, _ successor: (UInt32) -> Digest
  ) -> Action {
    let generation = current.generation + 1
    spent = Spent(digest: digest, attempt: attempt, at: now)
    current = Current(generation: generation, digest: successor(generation))
    expiresAt = min(now.advanced(by: rules.idleLifetime), endsAt)
    return .handOut(generation: generation)
  }

  private mutating func finish(_ cause: SessionEnd) -> Action {
    end = cause
    return .end(cause)
  }
}
