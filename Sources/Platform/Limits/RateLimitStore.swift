public import EventLoop
public import PostgreSQL
internal import Synchronization

/// Token buckets in the database, shared by all copies of the service.
///
/// Refill and take are one statement for all takes that arrive while the last one is on its way, and its commit does not wait for
/// the disk: a crash of the server gives back the tokens of its last moments and nothing else. The clock is the caller's, as far as
/// the database's own agrees (``PostgreSQL/DatabaseConfiguration/clockLead``): else one copy whose clock is a year ahead would leave
/// buckets that refill in a year. A refusal is remembered in this process until it ends, so that a flood costs the database nothing.
public final class RateLimitStore: Sendable {
  /// One question.
  private struct Take: Sendable {
    let key: String
    let count: Int
    let now: Timestamp
  }

  private typealias Batcher = WriteBatcher<Take, BucketAnswer>

  private let schema: StaticString
  private let database: Database
  private let loops: [EventLoop]
  private let patience: Duration
  private let refusals: Mutex<RefusalMemory<String>>
  private let memory: Mutex<BucketMemory>
  /// By rate, since a statement refills all its buckets alike: a handful in practice.
  private let batchers = Mutex<[BucketRate: PerLoop<Batcher>]>([:])
  private let questions = Atomic(0)

  /// Buckets in `database`.
  ///
  /// - Parameters:
  ///   - schema: The service's schema, which has had ``RateLimitMigration/create(schema:role:)``.
  ///   - database: Where it is.
  ///   - loops: The loops that ask, each in its own batches.
  ///   - patience: How long a statement may take: nobody is let in meanwhile.
  ///   - rememberedRefusals: How many refusals are remembered at most, and how many buckets for ``takeFromMemory(_:_:at:)``.
  public init(
    schema: StaticString, _ database: Database, loops: [EventLoop], patience: Duration = .seconds(2),
    rememberedRefusals: Int = 65_536
  ) {
    self.schema = schema
    self.database = database
    self.loops = loops
    self.patience = patience
    refusals = Mutex(RefusalMemory(capacity: rememberedRefusals))
    memory = Mutex(BucketMemory(capacity: rememberedRefusals))
  }

  /// How many takes went to the database.
  public var questionCount: Int { questions.load(ordering: .relaxed) }

  /// Takes one token from the bucket of `key`, if there is one; a refused take consumes nothing.
  ///
  /// - Parameters:
  ///   - key: Whose bucket it is: `account:0199…`.
  ///   - rate: How it fills.
  ///   - now: The time.
  /// - Throws: ``PostgreSQL/DatabaseError`` when nobody can say.
  public func take(_ key: String, _ rate: BucketRate, at now: Timestamp) async throws(DatabaseError) -> BucketAnswer {
    try await take(1, key, rate, at: now)
  }

  /// Takes one token as ``take(_:_:at:)``, and without the database as long as this process knows of more than half a burst in the
  /// bucket: for limits that would let the call pass if nobody could count.
  ///
  /// A caller of one process gets no more than with the other. One who is spread over several may get half a burst more from each.
  public func takeFromMemory(_ key: String, _ rate: BucketRate, at now: Timestamp) async throws(DatabaseError) -> BucketAnswer {
    if let answer = memory.withLock({ $0.take(key, rate, at: now) }) { return answer }
    let untold = memory.withLock { $0.tell(key) }
    let answer = try await take(untold + 1, key, rate, at: now)
    memory.withLock { $0.learn(key, answer, at: now) }
    return answer
  }

  private func take(
    _ count: Int, _ key: String, _ rate: BucketRate, at now: Timestamp
  ) async throws(DatabaseError) -> BucketAnswer {
    if let until = refusals.withLock({ $0.refusal(of: key, at: now) }) { return BucketAnswer(refusedUntil: until, rate) }
    questions.add(1, ordering: .relaxed)
    let answer = try await batcher(rate).submit(Take(key: key, count: count, now: now))
    if let until = answer.refusedUntil { refusals.withLock { $0.remember(key, until: until) } }
    return answer
  }

  private func batcher(_ rate: BucketRate) -> Batcher {
    batchers.withLock { batchers in
      if let known = batchers[rate] { return known }
      let made = PerLoop(loops) { loop in
        Batcher(on: loop) { [schema, database, patience] takes throws(DatabaseError) in
          try await Self.send(takes, rate, schema, database, within: patience)
        }
      }
      batchers[rate] = made
      return made
    }.here
  }

  /// Takes of one key become one row, which asks for so many; the first of them get what there is.
  private static func send(
    _ takes: [Take], _ rate: BucketRate, _ schema: StaticString, _ database: Database, within patience: Duration
  ) async throws(DatabaseError) -> [BucketAnswer] {
    var asked: [String: Int] = [:]
    for take in takes { asked[take.key, default: 0] += take.count }
    let keys = Array(asked.keys)
    let now = takes.map(\.now).max() ?? Timestamp(microseconds: 0)
    let rows: [(String, Int, Double, Timestamp)] = try await database.relaxed.rows(
      RateLimitStatement.take(
        keys, asked: keys.map { Int32(clamping: asked[$0] ?? 0) }, rate, at: now, lead: database.configuration.clockLead,
        in: schema),
      deadline: MonotonicInstant.now().advanced(by: patience))
    var buckets: [String: (granted: Int, bucket: TokenBucket)] = [:]
    for (key, granted, tokens, touchedAt) in rows {
      buckets[key] = (granted, TokenBucket(tokens: tokens, refilledAt: touchedAt))
    }
    return takes.map { take in
      guard let (granted, bucket) = buckets[take.key] else {
        return BucketAnswer(refusedUntil: now.advanced(by: .seconds(1)), rate)
      }
      let fullAt = bucket.full(of: rate)
      guard granted >= take.count else {
        // However short the wait, it is one: what was refused now is not asked again now.
        let until = max(bucket.refill(of: rate), Timestamp(microseconds: now.microseconds + 1))
        return BucketAnswer(refusedUntil: until, remaining: 0, fullAt: fullAt)
      }
      buckets[take.key]?.granted -= take.count
      return BucketAnswer(refusedUntil: nil, remaining: bucket.wholeTokens + granted - take.count, fullAt: fullAt)
    }
  }
}
