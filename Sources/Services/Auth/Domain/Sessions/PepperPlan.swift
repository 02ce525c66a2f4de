public import Values

/// A pepper's place in the row of peppers: what is decided by time alone.
public struct PepperTimes: Sendable, Hashable {
  /// Counts them, from 1. Of several instances that make the same one, one wins.
  public let generation: Int
  /// When it was made and, from then on, known to all copies that look.
  public let createdAt: Instant
  /// From when on tokens are made with it.
  public let activatesAt: Instant

  /// A pepper's place.
  public init(generation: Int, createdAt: Instant, activatesAt: Instant) {
    self.generation = generation
    self.createdAt = createdAt
    self.activatesAt = activatesAt
  }
}

/// When a new pepper is made, used, and forgotten.
///
/// ```
/// made ──publishedAhead──▶ in use ──period──▶ known, for the tokens that it has sealed ──retention──▶ forgotten
/// ```
/// A token is replaced whenever it serves, so what a pepper has sealed is gone once a session could have lived that long without
/// being refreshed. Until then its tokens are read with it, and answered with tokens of the one in use.
public struct PepperPlan: Sendable, Hashable {
  /// How long before its first use a pepper is there: every copy has read it by then.
  public static let publishedAhead = Duration.seconds(1800)
  /// How long a pepper is known beyond the life of its last token: for copies whose clocks are behind, and that have not looked for
  /// a while.
  public static let margin = Duration.seconds(3600)

  /// How long a pepper is in use.
  public let period: Duration
  /// How long it is known after that.
  public let retention: Duration

  /// A plan.
  ///
  /// - Parameters:
  ///   - period: How long a pepper is in use; at least twice ``publishedAhead``.
  ///   - tokenLifetime: How long a refresh token lives that nobody uses.
  public init(period: Duration, tokenLifetime: Duration) {
    self.period = max(period, Self.publishedAhead * 2)
    retention = tokenLifetime + Self.margin
  }

  /// The pepper that tokens are made with; nil when there is none.
  public func active(of peppers: [PepperTimes], at now: Instant) -> PepperTimes? {
    peppers.last { $0.activatesAt <= now } ?? peppers.first
  }

  /// The pepper that is to be made now, if one is.
  public func next(after peppers: [PepperTimes], at now: Instant) -> PepperTimes? {
    guard let last = peppers.last else { return PepperTimes(generation: 1, createdAt: now, activatesAt: now) }
    let due = last.activatesAt.advanced(by: period)
    guard now >= due.advanced(by: .zero - Self.publishedAhead) else { return nil }
    return PepperTimes(
      generation: last.generation + 1, createdAt: now, activatesAt: max(due, now.advanced(by: Self.publishedAhead)))
  }

  /// The generations of which no token can be around any more.
  public func expired(of peppers: [PepperTimes], at now: Instant) -> [Int] {
    zip(peppers, peppers.dropFirst()).filter { $1.activatesAt.advanced(by: retention) <= now }.map(\.0.generation)
  }
}
