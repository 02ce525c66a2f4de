public import AuthDomain
public import EventLoop
public import PostgreSQL
internal import Synchronization

/// Token buckets in the database, shared by all copies of the service.
///
/// Refill and take are one statement for all takes that arrive while the last one is on its way. The clock is the caller's. A
/// refusal is remembered in this process until it ends, so that a flood costs the database nothing.
public final class RateLimitStore: Sendable {
  /// One question.
  private struct Take: Sendable {
    let key: LimitKey
    let now: Moment
  }

  private typealias Batcher = WriteBatcher<Take, LimitDecision>

  private let database: Database
  private let loops: [EventLoop]
  private let patience: Duration
  private let refusals: Mutex<RefusalMemory>
  /// By limit, since a statement refills all its buckets alike: two in practice.
  private let batchers = Mutex<[RateLimit: PerLoop<Batcher>]>([:])
  private let questions = Atomic(0)

  /// Buckets in `database`.
  ///
  /// - Parameters:
  ///   - database: Where the buckets are.
  ///   - loops: The loops that ask, each in its own batches.
  ///   - patience: How long a statement may take: nobody is let in meanwhile.
  ///   - rememberedRefusals: How many refusals are remembered at most.
  public init(
    _ database: Database, loops: [EventLoop], patience: Duration = .seconds(2), rememberedRefusals: Int = 65_536
  ) {
    self.database = database
    self.loops = loops
    self.patience = patience
    refusals = Mutex(RefusalMemory(capacity: rememberedRefusals))
  }

  /// How many takes went to the database.
  public var questionCount: Int { questions.load(ordering: .relaxed) }

  /// Takes one token from the bucket of `key`, if there is one; a refused take consumes nothing.
  ///
  /// - Throws: ``PostgreSQL/DatabaseError`` when nobody can say.
  public func take(_ key: LimitKey, _ limit: RateLimit, at now: Moment) async throws(DatabaseError) -> LimitDecision {
    if let until = refusals.withLock({ $0.refusal(of: key, at: now) }) { return .refused(until: until) }
    questions.add(1, ordering: .relaxed)
    let decision = try await batcher(limit).submit(Take(key: key, now: now))
    if case .refused(let until) = decision { refusals.withLock { $0.remember(key, until: until) } }
    return decision
  }

  private func batcher(_ limit: RateLimit) -> Batcher {
    batchers.withLock { batchers in
      if let known = batchers[limit] { return known }
      let made = PerLoop(loops) { loop in
        Batcher(on: loop) { [database, patience] takes throws(DatabaseError) in
          try await Self.send(takes, limit, to: database, within: patience)
        }
      }
      batchers[limit] = made
      return made
    }.here
  }

  /// Takes of one key become one row, which asks for so many; the first of them get what there is.
  private static func send(
    _ takes: [Take], _ limit: RateLimit, to database: Database, within patience: Duration
  ) async throws(DatabaseError) -> [LimitDecision] {
    var asked: [String: Int] = [:]
    for take in takes { asked[take.key.text, default: 0] += 1 }
    let keys = Array(asked.keys)
    let now = takes.map(\.now).max() ?? Moment(microseconds: 0)
    let rows: [(String, Int, Double, Timestamp)] = try await database.rows(
      RateLimitStatement.take(keys, asked: keys.map { Int32(asked[$0] ?? 0) }, limit, at: now),
      deadline: MonotonicInstant.now().advanced(by: patience))
    var buckets: [String: (granted: Int, refill: Moment)] = [:]
    for (key, granted, tokens, touchedAt) in rows {
      let bucket = TokenBucket(tokens: tokens, refilledAt: Moment(touchedAt))
      // However short the wait, it is one: what was refused now is not asked again now.
      buckets[key] = (granted, max(bucket.refill(of: limit), Moment(microseconds: now.microseconds + 1)))
    }
    return takes.map { take in
      guard let bucket = buckets[take.key.text] else { return .refused(until: now.advanced(by: .seconds(1))) }
      guard bucket.granted > 0 else { return .refused(until: bucket.refill) }
      buckets[take.key.text]?.granted -= 1
      return .allowed
    }
  }
}
