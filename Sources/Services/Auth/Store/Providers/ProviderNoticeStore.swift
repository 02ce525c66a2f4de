public import AuthDomain
public import PostgreSQL
public import Values

/// What providers tell by themselves: each notice is claimed and acted on in one transaction, once.
public struct ProviderNoticeStore: Sendable {
  /// What became of a notice.
  public enum Outcome: Sendable {
    /// It came before.
    case repeated
    /// It was acted on: for these accounts, of which these sessions ended.
    case taken(users: [UserID], ended: [SessionRecord])
  }

  private let database: Database
  private let sessions: SessionStore
  private let patience: Duration

  /// The notices in `database`.
  ///
  /// - Parameters:
  ///   - database: Where they are.
  ///   - sessions: What ends sessions, in the same database.
  ///   - patience: How long a transaction may take.
  public init(_ database: Database, sessions: SessionStore, patience: Duration = .seconds(5)) {
    self.database = database
    self.sessions = sessions
    self.patience = patience
  }

  /// Acts on a notice, unless it came before. Everything is durable when this returns, or nothing has changed.
  ///
  /// - Parameters:
  ///   - notice: What was told.
  ///   - apps: The apps whose people it may be about.
  ///   - now: The time.
  ///   - requestID: The request's id, as in the log.
  public func take(
    _ notice: ProviderNotice, for apps: [String], at now: Instant, requestID: String
  ) async throws(DatabaseError) -> Outcome {
    try await database.settle(within: patience) { transaction in
      // A second delivery waits here for the first one's end.
      let isNew =
        try await transaction.execute(
          """
          insert into auth.provider_notice (provider, id, word, occurred_at, received_at)
          values (\(notice.provider.rawValue), \(notice.id), \(notice.word), \(notice.occurredAt), \(now))
          on conflict do nothing
          """) == 1
      guard isNew else { return .repeated }
      guard notice.action != nil else { return .taken(users: [], ended: []) }
      // Locked, so that a deletion that ends meanwhile waits, and then takes along what is noted here.
      let rows: [(UUID, String)] = try await transaction.rows(
        """
        select user_id, app from auth.identity_lookup
        where app = any(\(apps)) and provider = \(notice.provider.rawValue) and subject = \(notice.subject) order by user_id
        for share
        """)
      var ending: [(user: UserID, session: UUID)] = []
      for (id, app) in rows {
        ending += try await act(on: notice, for: UserID(id), in: app, at: now, requestID, transaction)
      }
      // What ends is announced under a lock that must be the last one taken, so all rows are locked by now.
      var ended: [SessionRecord] = []
      let client = SessionStore.Client(address: "", requestID: requestID)
      for (user, session) in ending {
        ended += try await sessions.end(
          .one(SessionID(session)), of: user, .consentRevoked, at: now, for: client, on: transaction)
      }
      return .taken(users: rows.map { UserID($0.0) }, ended: ended)
    }
  }

  /// - Returns: The sessions that end with it, locked.
  private func act(
    on notice: ProviderNotice, for user: UserID, in app: String, at now: Instant, _ requestID: String, _ transaction: Transaction
  ) async throws(DatabaseError) -> [(user: UserID, session: UUID)] {
    guard let action = notice.action else { return [] }
    let entry = Activity(user: user, app: app, at: now, action: action, address: "", requestID: requestID)
    var queries = [ActivityStore.insert(entry)]
    if case .emailForwarding(let isForwarded) = notice.kind { queries.append(Self.mail(notice, isForwarded, of: user)) }
    var sessions: [UUID] = []
    if let moment = notice.endsWhatBeganBefore, let ending = notice.ending {
      queries += ProviderGrantStore.end(of: user, notice, ending, before: moment, at: now)
      sessions = try await transaction.rows(
        """
        select id from auth.session
        where user_id = \(UUID(user)) and provider = \(notice.provider.rawValue) and ended_at is null
          and expires_at > \(now) and authenticated_at <= \(moment)
        order by id for update
        """)
    }
    try await transaction.executeAll(queries)
    return sessions.map { (user, $0) }
  }

  private static func mail(_ notice: ProviderNotice, _ isForwarded: Bool, of user: UserID) -> Query {
    """
    update auth.account set email_is_forwarded = \(isForwarded), email_told_at = \(notice.occurredAt),
      email = coalesce(\(notice.email), email),
      email_is_private = case when \(notice.email)::text is null then email_is_private else \(notice.emailIsPrivate) end
    where user_id = \(UUID(user)) and (email_told_at is null or email_told_at < \(notice.occurredAt))
    """
  }
}
