public import PostgreSQL
internal import Values

/// Tokens of one rate that are taken by one statement, and what else in its transaction depends on them.
///
/// A bucket's row says how many tokens the last statement got. It stays locked until the transaction ends, so whatever runs behind that
/// statement in the same transaction can ask it, and does nothing where the token was refused.
public struct BucketTakes: Sendable {
  private let store: RateLimitStore
  private let takes: [PreparedTake]
  private let rate: BucketRate
  private let now: Instant
  /// Whose turn it is at its bucket: how many tokens it has to give for this take to get its own.
  private let turns: [Int]

  /// Takes that go together: of one store and of one rate, at least one.
  public init(_ takes: [PreparedTake]) {
    precondition(!takes.isEmpty && takes.allSatisfy { $0.rate == takes[0].rate }, "a statement refills all its buckets alike")
    self.takes = takes
    (store, rate) = (takes[0].store, takes[0].rate)
    now = takes.map(\.now).max() ?? takes[0].now
    var asked: [String: Int] = [:]
    turns = takes.map { take in
      asked[take.key, default: 0] += take.count
      return asked[take.key] ?? take.count
    }
  }

  /// The statement that takes them: takes of one key become one row, which asks for so many; the first of them get what there is.
  public var statement: Query {
    var asked: [String: Int] = [:]
    for take in takes { asked[take.key, default: 0] += take.count }
    let keys = Array(asked.keys)
    return store.statement(keys, asked: keys.map { Int32(clamping: asked[$0] ?? 0) }, rate, at: now)
  }

  /// A condition for the statements that follow in the same transaction: whether the take of that index got its token.
  public func isGranted(_ index: Int) -> Query { store.isGranted(takes[index].key, turn: turns[index]) }

  /// The key and the turn of the take of that index: what ``isGranted(_:)`` asks for, where many are asked for in one statement.
  public func turn(_ index: Int) -> (key: String, turn: Int) { (takes[index].key, turns[index]) }

  /// What ``statement`` has answered, for each take; its refusals are remembered from here on.
  public func answers(_ result: QueryResult) throws(DatabaseError) -> [BucketAnswer] {
    var buckets: [String: (granted: Int, bucket: TokenBucket)] = [:]
    for index in 0..<result.count {
      let (key, granted, tokens, touchedAt): (String, Int, Double, Instant) = try result[index].decode()
      buckets[key] = (granted, TokenBucket(tokens: tokens, refilledAt: touchedAt))
    }
    return zip(takes, turns).map { take, turn in
      // Whoever's account is gone has no bucket, and is not counted: the call itself turns them away.
      guard let (granted, bucket) = buckets[take.key] else { return .uncounted(at: now) }
      let fullAt = bucket.full(of: rate)
      guard turn <= granted else {
        // However short the wait, it is one: what was refused now is not asked again now.
        let until = max(bucket.refill(of: rate), Instant(microseconds: now.microseconds + 1))
        store.remember(take.key, refusedUntil: until)
        return BucketAnswer(refusedUntil: until, remaining: 0, fullAt: fullAt)
      }
      return BucketAnswer(refusedUntil: nil, remaining: bucket.wholeTokens + granted - turn, fullAt: fullAt)
    }
  }
}

/// One token that is about to be taken, and travels with what needs it; see ``RateLimitStore/prepare(_:_:at:)``.
public struct PreparedTake: Sendable {
  let store: RateLimitStore
  let key: String
  let rate: BucketRate
  let now: Instant
  let count: Int

  /// The refusal that this process knows of; then nobody need be asked.
  public var refusal: BucketAnswer? { store.refusal(of: key, rate, at: now) }

  /// Takes it, in one round trip with statements that depend on it, and with whatever else is taken at this moment.
  ///
  /// They run as one transaction with the takes of others, so they have to be such as do not fail.
  ///
  /// - Parameters:
  ///   - durably: Whether the commit waits for the disk: for statements that write what must not be lost.
  ///   - statements: What follows, each with the condition it is given as part of its own.
  /// - Returns: The answer, and what the statements have answered; nothing when the token is known to be refused.
  public func send(
    durably: Bool = false, with statements: @escaping @Sendable (_ isGranted: Query) -> [Query] = { _ in [] }
  ) async throws(DatabaseError) -> (answer: BucketAnswer, results: BatchResults) {
    try await store.send(self, durably: durably, with: statements)
  }
}
