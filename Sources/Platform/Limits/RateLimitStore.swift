public import EventLoop
public import PostgreSQL
internal import Synchronization
public import Values

/// Token buckets in the database, shared by all copies of the service.
///
/// Refill and take are one statement for all takes that arrive while the last one is on its way, and its commit does not wait for
/// the disk: a crash of the server gives back the tokens of its last moments and nothing else. What depends on a token can travel with its
/// take (``PreparedTake/send(durably:with:)``), or the take with what depends on it (``BucketTakes``). The clock is the caller's, as far
/// as the database's own agrees (``PostgreSQL/DatabaseConfiguration/clockLead``): else one copy whose clock is a year ahead would leave
/// buckets that refill in a year. A refusal is remembered in this process until it ends, so that a flood costs the database nothing.
public final class RateLimitStore: Sendable {
  /// Whether the account of a person is gone, as a condition of SQL; `person` is the person's UUID there.
  public typealias GoneCondition = @Sendable (_ person: Query) -> Query

  /// One question.
  private struct Take: Sendable {
    let take: PreparedTake
    let isDurable: Bool
    let statements: @Sendable (_ isGranted: Query) -> [Query]
  }

  private typealias Answer = (answer: BucketAnswer, results: BatchResults)
  private typealias Batcher = WriteBatcher<Take, Answer>

  private let schema: StaticString
  private let database: Database
  private let loops: [EventLoop]
  private let patience: Duration
  private let isGone: GoneCondition?
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
  ///   - isGone: Whether a person's account is gone, of keys that end in a UUID: then nothing is written that bears the name, whoever
  ///     still remembers a bucket of it, and nothing is counted. Nil where there are no accounts.
  public init(
    schema: StaticString, _ database: Database, loops: [EventLoop], patience: Duration = .seconds(2),
    rememberedRefusals: Int = 65_536, unlessGone isGone: GoneCondition? = nil
  ) {
    self.schema = schema
    self.database = database
    self.loops = loops
    self.patience = patience
    self.isGone = isGone
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
  public func take(_ key: String, _ rate: BucketRate, at now: Instant) async throws(DatabaseError) -> BucketAnswer {
    try await prepare(key, rate, at: now).send().answer
  }

  /// Takes one token as ``take(_:_:at:)``, and without the database as long as this process knows of more than half a burst in the
  /// bucket: for limits that would let the call pass if nobody could count.
  ///
  /// A caller of one process gets no more than with the other. One who is spread over several may get half a burst more from each.
  public func takeFromMemory(_ key: String, _ rate: BucketRate, at now: Instant) async throws(DatabaseError) -> BucketAnswer {
    if let answer = memory.withLock({ $0.take(key, rate, at: now) }) { return answer }
    let untold = memory.withLock { $0.tell(key) }
    let answer = try await PreparedTake(store: self, key: key, rate: rate, now: now, count: untold + 1).send().answer
    memory.withLock { memory in if answer.isCounted { memory.learn(key, answer, at: now) } else { memory.forget(key) } }
    return answer
  }

  /// A token that is taken together with what depends on it; the same parameters as of ``take(_:_:at:)``.
  public func prepare(_ key: String, _ rate: BucketRate, at now: Instant) -> PreparedTake {
    PreparedTake(store: self, key: key, rate: rate, now: now, count: 1)
  }

  // MARK: Internals

  func refusal(of key: String, _ rate: BucketRate, at now: Instant) -> BucketAnswer? {
    refusals.withLock { $0.refusal(of: key, at: now) }.map { BucketAnswer(refusedUntil: $0, rate) }
  }

  func remember(_ key: String, refusedUntil until: Instant) { refusals.withLock { $0.remember(key, until: until) } }

  func statement(_ keys: [String], asked: [Int32], _ rate: BucketRate, at now: Instant) -> Query {
    RateLimitStatement.take(
      keys, asked: asked, rate, at: now, lead: database.configuration.clockLead, in: schema, unlessGone: isGone)
  }

  func isGranted(_ key: String, turn: Int) -> Query {
    RateLimitStatement.isGranted("\(key)", turn: "\(Int32(clamping: turn))", in: schema)
  }

  func send(
    _ take: PreparedTake, durably: Bool, with statements: @escaping @Sendable (_ isGranted: Query) -> [Query]
  ) async throws(DatabaseError) -> (answer: BucketAnswer, results: BatchResults) {
    if let refusal = take.refusal { return (refusal, BatchResults(results: [])) }
    questions.add(1, ordering: .relaxed)
    return try await batcher(take.rate).submit(Take(take: take, isDurable: durably, statements: statements))
  }

  private func batcher(_ rate: BucketRate) -> Batcher {
    batchers.withLock { batchers in
      if let known = batchers[rate] { return known }
      let made = PerLoop(loops) { loop in
        Batcher(on: loop) { [database, patience] takes throws(DatabaseError) in
          try await Self.send(takes, to: database, within: patience)
        }
      }
      batchers[rate] = made
      return made
    }.here
  }

  /// One transaction: the takes, and behind them what depends on each.
  private static func send(
    _ takes: [Take], to database: Database, within patience: Duration
  ) async throws(DatabaseError) -> [Answer] {
    let buckets = BucketTakes(takes.map(\.take))
    let statements = takes.indices.map { takes[$0].statements(buckets.isGranted($0)) }
    let deadline = MonotonicInstant.now().advanced(by: patience)
    func gather(_ batch: inout Batch) {
      batch.add(buckets.statement)
      for statement in statements.joined() { batch.add(statement) }
    }
    let found =
      takes.contains(where: \.isDurable)
      ? try await database.batch(deadline: deadline, gather) : try await database.relaxed.batch(deadline: deadline, gather)
    var rest = found.results[1...]
    let answers = try buckets.answers(found.results[0])
    return zip(answers, statements).map { answer, statements in
      defer { rest = rest.dropFirst(statements.count) }
      return (answer, BatchResults(results: Array(rest.prefix(statements.count))))
    }
  }
}
