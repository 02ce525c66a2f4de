public import AuthDomain
internal import EventLoop
public import PostgreSQL
public import Values

/// Hands work over to whoever does it, as part of a transaction: both are there once it is committed, or neither is.
public protocol AccountWorkQueueing: Sendable {
  /// Sees to it that the work is done.
  func enqueue(_ work: AccountWorkID, _ kind: AccountWork.Kind, of user: UserID, at now: Instant, on transaction: Transaction)
    async throws
}

/// Exports and deletions: what was asked for, and how far each has come.
///
/// What an attempt writes counts only while it is the last one, so that an attempt that was overtaken (a process that hung, and came
/// back) changes nothing.
public struct AccountWorkStore: Sendable {
  let database: Database
  let patience: Duration
  private let sessions: SessionStore
  private let queue: any AccountWorkQueueing

  /// The work in `database`.
  ///
  /// - Parameters:
  ///   - database: Where it is.
  ///   - sessions: What ends when an account does.
  ///   - queue: Who does the work.
  ///   - patience: How long a transaction may take.
  public init(
    _ database: Database, sessions: SessionStore, queue: any AccountWorkQueueing, patience: Duration = .seconds(20)
  ) {
    self.database = database
    self.sessions = sessions
    self.queue = queue
    self.patience = patience
  }

  // MARK: Asking for it

  /// What is asked for.
  public struct Request: Sendable {
    /// The work's identifier, if it is new.
    public var id: AccountWorkID
    /// Who asks.
    public var user: UserID
    /// The app of the account.
    public var app: String
    /// The session that asks.
    public var session: SessionID
    /// What tells a repeated request from another one.
    public var key: String
    /// The steps.
    public var steps: [StepName]

    /// A request.
    public init(id: AccountWorkID, user: UserID, app: String, session: SessionID, key: String, steps: [StepName]) {
      self.id = id
      self.user = user
      self.app = app
      self.session = session
      self.key = key
      self.steps = steps
    }
  }

  /// What became of a request.
  public enum Outcome: Sendable {
    /// This work: made by the request, or there before.
    case work(AccountWorkID, endedSessions: Int)
    /// None.
    case refused(AccountRefusal.Kind)
  }

  /// Rolls the transaction back.
  private struct Refused: Error { let kind: AccountRefusal.Kind }

  /// Begins an export, unless one is being made or the key has got one before. Exports of before are removed.
  public func startExport(
    _ request: Request, at now: Instant, for client: SessionStore.Client
  ) async throws(DatabaseError) -> Outcome {
    try await database.settle(within: patience) { transaction in
      try await Self.lock(request.user, isDeleting: false, on: transaction)
      let found: UUID? = try await transaction.value(
        """
        select id from auth.account_work
        where user_id = \(UUID(request.user)) and kind = 'export' and (done_at is null or idempotency_key = \(request.key))
        order by done_at is null desc limit 1
        """)
      if let found { return .work(AccountWorkID(found), endedSessions: 0) }
      try await transaction.executeAll(
        Self.removeExports(of: request.user) + Self.insert(request, .export, at: now)
          + [ActivityStore.insert(Self.entry(request, .exportRequested, at: now, client))])
      try await queue.enqueue(request.id, .export, of: request.user, at: now, on: transaction)
      return .work(request.id, endedSessions: 0)
    } refused: { error in
      (error as? Refused).map { .refused($0.kind) }
    }
  }

  /// Begins the deletion of an account, unless it has begun: nobody signs in to it any more, and all its sessions end.
  ///
  /// - Parameters:
  ///   - request: Who asks.
  ///   - receipt: What the receipt of a work is known by.
  ///   - now: The time.
  ///   - client: From where.
  public func startDeletion(
    _ request: Request, receipt: @escaping @Sendable (AccountWorkID) -> Digest, at now: Instant, for client: SessionStore.Client
  ) async throws(DatabaseError) -> Outcome {
    try await database.settle(within: patience) { transaction in
      try await Self.lock(request.user, isDeleting: nil, on: transaction)
      let found: UUID? = try await transaction.value(
        "select id from auth.account_work where user_id = \(UUID(request.user)) and kind = 'deletion'")
      if let found { return .work(AccountWorkID(found), endedSessions: 0) }
      try await transaction.executeAll(
        ["select auth.begin_deletion(\(UUID(request.user)), \(now))"]
          + Self.insert(request, .deletion, at: now) + [
            """
            insert into auth.deletion_receipt_lookup (hash, user_id, work_id)
            values (\(receipt(request.id).bytes), \(UUID(request.user)), \(UUID(request.id)))
            """, ActivityStore.insert(Self.entry(request, .deletionRequested, at: now, client)),
          ])
      try await queue.enqueue(request.id, .deletion, of: request.user, at: now, on: transaction)
      let ended = try await sessions.end(.all, of: request.user, .accountDeleted, at: now, for: client, on: transaction)
      return .work(request.id, endedSessions: ended.count)
    } refused: { error in
      (error as? Refused).map { .refused($0.kind) }
    }
  }

  /// Waits for whoever signs in to the account at this moment, or asks the same.
  private static func lock(_ user: UserID, isDeleting: Bool?, on transaction: Transaction) async throws {
    let row: Bool? = try await transaction.value(
      "select deleting_at is not null from auth.account where user_id = \(UUID(user)) for update")
    guard let row else { throw Refused(kind: .accountDeleted) }
    if let isDeleting, row != isDeleting { throw Refused(kind: .accountDeleting) }
  }

  private static func insert(_ request: Request, _ kind: AccountWork.Kind, at now: Instant) -> [Query] {
    [
      """
      insert into auth.account_work (user_id, id, app, kind, idempotency_key, created_at)
      values (
        \(UUID(request.user)), \(UUID(request.id)), \(request.app), \(kind.rawValue), \(request.key), \(now))
      """, addSteps(request.steps, to: request.id, of: request.user),
    ]
  }

  private static func entry(
    _ request: Request, _ action: Activity.Action, at now: Instant, _ client: SessionStore.Client
  ) -> Activity {
    Activity(
      user: request.user, app: request.app, at: now, action: action, session: request.session, address: client.address,
      requestID: client.requestID)
  }

  // MARK: Reading

  /// An export or a deletion of a person's; nil when there is none of this name.
  public func work(_ id: AccountWorkID, of user: UserID) async throws(DatabaseError) -> AccountWork? {
    guard var work: AccountWork = try await database.row(AccountWorkRow.select(id, of: user), as: AccountWorkRow.self)?.work
    else { return nil }
    work.steps = try await steps(of: work)
    return work
  }

  /// The deletion with this receipt; nil when there is none.
  public func deletion(receipt: Digest) async throws(DatabaseError) -> AccountWork? {
    let found: (UUID, UUID)? = try await database.reads.row(
      "select user_id, work_id from auth.deletion_receipt_lookup where hash = \(receipt.bytes)")
    guard let found else { return nil }
    return try await work(AccountWorkID(found.1), of: UserID(found.0))
  }

  private func steps(of work: AccountWork) async throws(DatabaseError) -> [AccountWork.Step] {
    let rows: [(String, Int32, Instant?, String)] = try await database.rows(
      """
      select name, attempts, done_at, failure from auth.account_work_step
      where user_id = \(UUID(work.user)) and work_id = \(UUID(work.id)) order by place, name
      """)
    let counts: [(String, String, Int64, Int64, String)] = try await database.rows(
      """
      select step, kind, deleted, held, why_held from auth.account_work_count
      where user_id = \(UUID(work.user)) and work_id = \(UUID(work.id)) order by step, kind
      """)
    return rows.map { row in
      AccountWork.Step(
        StepName(rawValue: row.0), doneAt: row.2, attempts: Int(row.1), failure: row.3,
        counts: counts.filter { $0.0 == row.0 }.map { AccountWork.Count($0.1, deleted: $0.2, held: $0.3, whyHeld: $0.4) })
    }
  }
}

/// A row of `auth.account_work`, without its steps.
struct AccountWorkRow: RowDecodable {
  let work: AccountWork

  init(_ row: Row) throws(DatabaseError) {
    let columns: (UUID, UUID, String, String, Instant, Instant?, String, Instant?, Int64) = try row.decode()
    work = AccountWork(
      id: AccountWorkID(columns.1), user: UserID(columns.0), app: columns.2, kind: try named(columns.3),
      createdAt: columns.4, doneAt: columns.5, failure: columns.6,
      expiresAt: columns.7, byteCount: columns.8)
  }

  static func select(_ id: AccountWorkID, of user: UserID) -> Query {
    """
    select user_id, id, app, kind, created_at, done_at, failure, expires_at, byte_count from auth.account_work
    where user_id = \(UUID(user)) and id = \(UUID(id))
    """
  }
}
