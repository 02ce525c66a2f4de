public import AuthDomain
internal import EventLoop
public import Limits
public import PostgreSQL
public import Values

/// Devices that stay signed in.
public struct SessionStore: Sendable {
  private let database: Database
  private let patience: Duration
  /// How long after the end of a session its access tokens may be around.
  private let tokensOutlive: Duration

  /// The sessions in `database`.
  ///
  /// - Parameters:
  ///   - database: Where they are.
  ///   - tokensOutlive: The lifetime of access tokens and the most leeway that anybody gives them.
  ///   - patience: How long a transaction may take.
  public init(_ database: Database, tokensOutlive: Duration, patience: Duration = .seconds(5)) {
    self.database = database
    self.tokensOutlive = tokensOutlive
    self.patience = patience
  }

  /// Who asks, for the activity that is noted with what is done.
  public struct Client: Sendable {
    /// The client's address.
    public var address: String
    /// The request's id, as in the log.
    public var requestID: String
    /// Who it is: the person, or an operator.
    public var actor: String
    /// An operator's reason.
    public var note: String

    /// A client.
    public init(address: String, requestID: String, actor: String = Activity.person, note: String = "") {
      self.address = address
      self.requestID = requestID
      self.actor = actor
      self.note = note
    }
  }

  // MARK: Refresh

  /// A refresh token that bears this service's seal, without its secret.
  public struct Presentation: Sendable {
    /// The session that it names.
    public var session: SessionID
    /// The generation that it says.
    public var generation: UInt32
    /// What it is known by.
    public var digest: Digest
    /// What the client's attempt is known by, if it names one.
    public var attempt: Digest?

    /// A token.
    public init(session: SessionID, generation: UInt32, digest: Digest, attempt: Digest?) {
      self.session = session
      self.generation = generation
      self.digest = digest
      self.attempt = attempt
    }
  }

  /// What became of a token that was shown.
  public struct Refreshed: Sendable {
    /// What to do for whoever has shown it.
    public var action: RefreshState.Action
    /// The session as it is now; nil when there is none.
    public var session: SessionRecord?
    /// What the token that is to be shown next is known by.
    public var current: Digest?
    /// What became of the token of a bucket that was asked for; where it was refused, nothing was looked at.
    public var limit: BucketAnswer?
  }

  /// Whose a session is.
  public struct Owner: Sendable {
    /// The account.
    public var user: UserID
    /// The app that it belongs to.
    public var app: String
  }

  /// Whose a session is; nil when there is none.
  public func owner(of session: SessionID) async throws(DatabaseError) -> Owner? {
    let row: (UUID, String)? = try await database.reads.row(
      "select user_id, app from auth.session_lookup where session_id = \(UUID(session))")
    return row.map { Owner(user: UserID($0.0), app: $0.1) }
  }

  /// The same in one round trip with the token of a bucket that it needs; nobody is looked for where that is refused.
  public func owner(
    of session: SessionID, taking take: PreparedTake
  ) async throws(DatabaseError) -> (answer: BucketAnswer, value: Owner?) {
    let (answer, results) = try await take.send { isGranted in
      ["select user_id, app from auth.session_lookup where session_id = \(UUID(session)) and \(part: isGranted)"]
    }
    guard answer.isAllowed, let row: (UUID, String) = try results.row(of: 0) else { return (answer, nil) }
    return (answer, Owner(user: UserID(row.0), app: row.1))
  }

  /// Judges a refresh token and notes what follows, in one transaction with the session's row locked.
  ///
  /// - Parameters:
  ///   - token: What was shown.
  ///   - user: Whose session it is.
  ///   - now: The time.
  ///   - rules: The lengths of time.
  ///   - client: Who shows it.
  ///   - take: The token of a bucket that this needs, taken in the first round trip; nil where none is needed.
  ///   - successor: What the token's successor of a generation is known by.
  /// - Throws: ``PostgreSQL/DatabaseError``; when the connection broke, the same attempt gets its answer by asking again.
  public func refresh(
    _ token: Presentation, of user: UserID, at now: Instant, rules: RefreshRules, for client: Client,
    taking take: PreparedTake? = nil, successor: @escaping @Sendable (_ generation: UInt32) -> Digest
  ) async throws(DatabaseError) -> Refreshed {
    // What a token that was used before gives away is acted on, also where whoever shows it hangs up at once.
    try await uncancelled { () async throws(DatabaseError) in
      try await settled(token, of: user, at: now, rules: rules, for: client, taking: take, successor: successor)
    }
  }

  private func settled(
    _ token: Presentation, of user: UserID, at now: Instant, rules: RefreshRules, for client: Client,
    taking take: PreparedTake? = nil, successor: @escaping @Sendable (_ generation: UInt32) -> Digest
  ) async throws(DatabaseError) -> Refreshed {
    if let refusal = take?.refusal { return Refreshed(action: .unknown, limit: refusal) }
    let buckets = take.map { BucketTakes([$0]) }
    return try await database.settle(within: patience) { transaction in
      let found = try await transaction.batch { batch in
        if let buckets { batch.add(buckets.statement) }
        batch.add(
          """
          select \(part: SessionRow.columns) from auth.session
          where user_id = \(UUID(user)) and id = \(UUID(token.session)) and \(part: buckets?.isGranted(0) ?? "true") for update
          """)
      }
      let limit = try buckets?.answers(found.results[0])[0]
      let row: SessionRow? = try found.row(of: found.results.count - 1)
      guard let row else {
        transaction.relax()
        return Refreshed(action: .unknown, limit: limit)
      }
      var (state, session) = (row.state, row.record)
      let action = state.present(
        generation: token.generation, digest: token.digest, attempt: token.attempt, at: now, rules: rules, successor: successor)
      switch action {
      case .handOut, .repeatAnswer:
        transaction.add(SessionRow.update(session, state, at: now, from: client.address))
        (session.lastUsedAt, session.lastAddress, session.expiresAt) = (now, client.address, state.expiresAt)
      case .end(let cause):
        for query in ending(session, cause, at: now, for: client, refusing: true) { transaction.add(query) }
      // Nothing has changed but a bucket.
      case .race, .ended, .unknown: transaction.relax()
      }
      return Refreshed(action: action, session: session, current: state.current.digest, limit: limit)
    }
  }

  private func ending(
    _ session: SessionRecord, _ cause: SessionEnd, at now: Instant, for client: Client, refusing: Bool
  ) -> [Query] {
    var queries = [SessionRow.end(session, cause, at: now)]
    if refusing { queries.append(ActivityStore.insert(entry(session, .refreshRefused, cause, at: now, client))) }
    queries.append(ActivityStore.insert(entry(session, .sessionEnded, cause, at: now, client)))
    return queries + RevocationStore.insert([session.id], cause, mattersUntil: now.advanced(by: tokensOutlive))
  }

  private func entry(
    _ session: SessionRecord, _ action: Activity.Action, _ cause: SessionEnd, at now: Instant, _ client: Client
  ) -> Activity {
    Activity(
      user: session.user, app: session.app, at: now, action: action, outcome: action == .refreshRefused ? .refused : .done,
      reason: cause.reason, session: session.id, address: client.address, requestID: client.requestID, actor: client.actor,
      note: client.note)
  }

  // MARK: Ending

  /// Which sessions of a person to end.
  public enum Selection: Sendable, Hashable {
    /// This one.
    case one(SessionID)
    /// All but this one.
    case allBut(SessionID)
    /// All.
    case all
  }

  /// Ends sessions of one person. Those that have ended, or have run out, are left as they are.
  ///
  /// - Returns: Those that this call has ended.
  public func end(
    _ selection: Selection, of user: UserID, _ cause: SessionEnd, at now: Instant, for client: Client
  ) async throws(DatabaseError) -> [SessionRecord] {
    try await database.settle(within: patience) { transaction in
      try await end(selection, of: user, cause, at: now, for: client, on: transaction)
    }
  }

  /// The same as the last part of a transaction: the lock of the feed is held from here to its end.
  func end(
    _ selection: Selection, of user: UserID, _ cause: SessionEnd, at now: Instant, for client: Client,
    on transaction: Transaction
  ) async throws(DatabaseError) -> [SessionRecord] {
    let only: UUID? = if case .one(let id) = selection { UUID(id) } else { nil }
    let spared: UUID? = if case .allBut(let id) = selection { UUID(id) } else { nil }
    // In the order of their keys, so that two who end the same sessions do not wait for each other.
    let rows: [SessionRow] = try await transaction.rows(
      """
      select \(part: SessionRow.columns) from auth.session
      where user_id = \(UUID(user)) and ended_at is null and expires_at > \(now)
        and (\(only)::uuid is null or id = \(only)) and (\(spared)::uuid is null or id <> \(spared))
      order by id for update
      """)
    guard !rows.isEmpty else { return [] }
    let sessions = rows.map(\.record)
    var queries: [Query] = []
    for session in sessions {
      queries.append(SessionRow.end(session, cause, at: now))
      queries.append(ActivityStore.insert(entry(session, .sessionEnded, cause, at: now, client)))
    }
    queries += RevocationStore.insert(sessions.map(\.id), cause, mattersUntil: now.advanced(by: tokensOutlive))
    for query in queries { transaction.add(query) }
    return sessions
  }

  // MARK: Reading

  /// Where a list of sessions goes on.
  public struct Place: Sendable, Hashable {
    /// When the last session of the page before was used last.
    public var lastUsedAt: Instant
    /// That session.
    public var id: SessionID

    /// A place.
    public init(lastUsedAt: Instant, id: SessionID) {
      self.lastUsedAt = lastUsedAt
      self.id = id
    }
  }

  /// The sessions of a person that are alive, the last used first.
  public func list(
    of user: UserID, after place: Place?, limit: Int, at now: Instant
  ) async throws(DatabaseError) -> [SessionRecord] {
    let used = place.map { $0.lastUsedAt } ?? .distantFuture
    let id = place.map { UUID($0.id) } ?? UUID(high: .max, low: .max)
    let rows: [SessionRow] = try await database.reads.rows(
      """
      select \(part: SessionRow.columns) from auth.session
      where user_id = \(UUID(user)) and ended_at is null and expires_at > \(now)
        and (last_used_at, id) < (\(used), \(id))
      order by last_used_at desc, id desc limit \(Int64(limit))
      """)
    return rows.map(\.record)
  }

  /// Whether a person has or had this session, as far as that is remembered.
  public func exists(_ session: SessionID, of user: UserID) async throws(DatabaseError) -> Bool {
    try await database.reads.value(
      "select exists (select from auth.session where user_id = \(UUID(user)) and id = \(UUID(session)))") ?? false
  }

  /// Why a session has ended, or nil while it is alive. One that is not known any more ended long ago.
  public func ending(of session: SessionID, at now: Instant) async throws(DatabaseError) -> SessionEnd? {
    let row: (String?, Instant)? = try await database.reads.row(
      """
      select session.end_cause, session.expires_at from auth.session_lookup as lookup
      join auth.session as session on session.user_id = lookup.user_id and session.id = lookup.session_id
      where lookup.session_id = \(UUID(session))
      """)
    guard let row else { return .expired }
    if let cause = row.0 { return try named(cause) }
    return row.1 > now ? nil : .expired
  }

  /// Which of some sessions are alive.
  public func alive(_ sessions: [SessionID], at now: Instant) async throws(DatabaseError) -> [SessionID] {
    let found: [UUID] = try await database.reads.rows(
      """
      select session.id from auth.session_lookup as lookup
      join auth.session as session on session.user_id = lookup.user_id and session.id = lookup.session_id
      where lookup.session_id = any(\(sessions.map { UUID($0) })) and session.ended_at is null
        and session.expires_at > \(now)
      """)
    return found.map { SessionID($0) }
  }
}
