public import AuthDomain
public import EventLoop
public import Limits
public import PostgreSQL
internal import Synchronization
public import Values

/// The ledger of tokens: rows are added and never changed. It decides what is handed out, since only it knows what all copies of
/// the service have handed out before, and what an operator has stopped a moment ago.
public final class IssuanceStore: Sendable {
  private typealias Batcher = WriteBatcher<IssuanceRecord, Void>
  private typealias Judge = WriteBatcher<IssuanceStatement.Issue, IssuanceDecision>

  private let batchers: PerLoop<Batcher>
  private let judges: PerLoop<Judge>
  /// Who has had enough for the day: a cap that is reached is not asked about each time.
  private let capped: Mutex<RefusalMemory<LimitKey>>

  /// The ledger in `database`.
  ///
  /// - Parameters:
  ///   - database: Where the records go.
  ///   - loops: The loops that write, each its own batches.
  ///   - patience: How long a statement may take: its callers wait for their tokens meanwhile.
  ///   - rememberedCaps: How many reached caps are remembered at most.
  public init(
    _ database: Database, loops: [EventLoop], patience: Duration = .seconds(5), rememberedCaps: Int = 65_536
  ) {
    capped = Mutex(RefusalMemory(capacity: rememberedCaps))
    batchers = PerLoop(loops) { loop in
      Batcher(on: loop) { records throws(DatabaseError) in
        let deadline = MonotonicInstant.now().advanced(by: patience)
        try await database.execute(IssuanceStatement.insert(records), deadline: deadline)
        return records.map { _ in }
      }
    }
    judges = PerLoop(loops) { loop in
      Judge(on: loop) { issues throws(DatabaseError) in
        let deadline = MonotonicInstant.now().advanced(by: patience)
        let takes = issues.compactMap(\.take)
        let buckets = takes.isEmpty ? nil : BucketTakes(takes)
        let found = try await database.batch(deadline: deadline) { batch in
          if let buckets { batch.add(buckets.statement) }
          batch.add(IssuanceStatement.issue(issues, buckets))
        }
        var answers = try buckets?.answers(found.results[0])[...] ?? []
        let rows: [(UUID, String)] = try found.rows(of: found.results.count - 1)
        let reasons = Dictionary(rows) { first, _ in first }
        return issues.map { issue in
          if issue.take != nil, let until = answers.popFirst()?.refusedUntil { return .limited(until: until) }
          return IssuanceStatement.decision(reasons[issue.id])
        }
      }
    }
  }

  /// Adds the record of a denial; it is durable when this returns.
  ///
  /// - Throws: ``PostgreSQL/DatabaseError`` when it is not, or when nobody can say.
  public func add(_ record: IssuanceRecord) async throws(DatabaseError) { try await batchers.here.submit(record) }

  /// Adds the record of a token that is about to be handed out, or of its denial when its capability or the person is stopped, the
  /// holder's account is suspended, or the person has had `perDay` of them on the record's day. Either is durable when this returns. All
  /// in one round trip, with the counting, and with the token of a bucket, where one is needed: if that is refused, nothing is put on record.
  ///
  /// - Throws: ``PostgreSQL/DatabaseError`` when nobody can say: then the token is not handed out.
  public func issue(
    _ record: IssuanceRecord, perDay: Int?, to holder: TokenHolder = TokenHolder(subject: "", apps: []),
    taking take: PreparedTake? = nil
  ) async throws(DatabaseError) -> IssuanceDecision {
    if let until = take?.refusal?.refusedUntil { return .limited(until: until) }
    let id = UUID.v7(at: record.at)
    let decision = try await judges.here.submit(
      .init(id: id, record: record, cap: perDay.map { Int32(clamping: $0) } ?? .max, holder: holder, take: take))
    if decision == .capReached {
      capped.withLock { $0.remember(.cap(record.capability, record.subject), until: record.at.nextDay) }
    }
    return decision
  }

  /// Whether it is known in this process that the person has had enough for the day.
  public func isCapped(_ subject: SubjectHash, _ capability: String, at now: Instant) -> Bool {
    capped.withLock { $0.refusal(of: .cap(capability, subject), at: now) } != nil
  }
}
