public import AuthDomain
internal import EventLoop
public import Limits
public import PostgreSQL
public import Values

/// Sign-ins: nonces, and the one transaction that makes a session of a verified identity.
public struct SignInStore: Sendable {
  private let database: Database
  private let patience: Duration

  /// Sign-ins in `database`; a transaction may take `patience`.
  public init(_ database: Database, patience: Duration = .seconds(5)) {
    self.database = database
    self.patience = patience
  }

  /// Notes a nonce that was issued.
  public func issue(
    nonce hash: Digest, app: String, provider: IdentityProvider, expiresAt: Instant
  ) async throws(DatabaseError) {
    try await database.execute(
      """
      insert into auth.nonce (hash, app, provider, expires_at)
      values (\(hash.bytes), \(app), \(provider.rawValue), \(expiresAt))
      """, deadline: MonotonicInstant.now().advanced(by: patience))
  }

  /// The same in one round trip with the token of a bucket that it needs; where that is refused, no nonce is noted.
  ///
  /// - Returns: What became of the token.
  public func issue(
    nonce hash: Digest, app: String, provider: IdentityProvider, expiresAt: Instant, taking take: PreparedTake
  ) async throws(DatabaseError) -> BucketAnswer {
    try await take.send(durably: true) { isGranted in
      [
        """
        insert into auth.nonce (hash, app, provider, expires_at)
        select \(hash.bytes), \(app), \(provider.rawValue), \(expiresAt) where \(part: isGranted)
        """
      ]
    }.answer
  }

  /// What is exchanged for a session.
  public struct Exchange: Sendable {
    /// SHA-256 of the nonce's text.
    public var nonce: Digest
    /// SHA-256 of the provider's token.
    public var token: Digest
    /// Until when the token could be shown again.
    public var tokenExpiresAt: Instant
    /// What the token says.
    public var identity: VerifiedIdentity
    /// What a new account's person is called.
    public var name: String
    /// The account's identifier, if it is a new one.
    public var newUser: UserID
    /// The session, whose owner is found here.
    public var session: SessionRecord
    /// What its first token is known by, and until when it lives.
    public var state: RefreshState
    /// The request's id, as in the log.
    public var requestID: String

    /// An exchange.
    public init(
      nonce: Digest, token: Digest, tokenExpiresAt: Instant, identity: VerifiedIdentity, name: String, newUser: UserID,
      session: SessionRecord, state: RefreshState, requestID: String
    ) {
      self.nonce = nonce
      self.token = token
      self.tokenExpiresAt = tokenExpiresAt
      self.identity = identity
      self.name = name
      self.newUser = newUser
      self.session = session
      self.state = state
      self.requestID = requestID
    }
  }

  /// What became of an exchange.
  public enum Outcome: Sendable {
    /// There is a session.
    case signedIn(Account, isNew: Bool)
    /// There is none, and nothing has changed.
    case refused(AccountRefusal.Kind)
  }

  /// Rolls the transaction back.
  private struct Refused: Error { let kind: AccountRefusal.Kind }

  /// Exchanges a verified token for a session: the token is noted, the nonce used up, the account found or made and the session made in
  /// one transaction, so of any number of exchanges of one token or with one nonce exactly one succeeds.
  public func exchange(_ exchange: Exchange, at now: Instant) async throws(DatabaseError) -> Outcome {
    try await database.settle(within: patience) { transaction in
      try await Self.attempt(exchange, at: now, transaction)
    } refused: { error in
      (error as? Refused).map { .refused($0.kind) }
    }
  }

  /// Notes a provider's token and uses its nonce up: neither serves again. The first two statements of a transaction's first trip.
  private static func consume(
    nonce: Digest, of app: String, _ provider: IdentityProvider, token: Digest, until tokenExpiresAt: Instant, at now: Instant
  ) -> [Query] {
    [
      // A second exchange of the token waits here for the first one's end.
      """
      insert into auth.exchanged_token (hash, expires_at) values (\(token.bytes), \(tokenExpiresAt))
      on conflict do nothing
      """,
      """
      delete from auth.nonce
      where hash = \(nonce.bytes) and app = \(app) and provider = \(provider.rawValue) and expires_at > \(now)
      """,
    ]
  }

  private static func mustBeConsumed(_ counts: [Int]) throws {
    guard counts[0] == 1 else { throw Refused(kind: .idTokenReplayed) }
    guard counts[1] == 1 else { throw Refused(kind: .nonceUnknown) }
  }

  /// Two round trips: what is known, and what is made of it with COMMIT.
  private static func attempt(_ exchange: Exchange, at now: Instant, _ transaction: Transaction) async throws -> Outcome {
    var session = exchange.session
    let (app, provider) = (session.app, session.provider)
    let queries =
      consume(
        nonce: exchange.nonce, of: app, provider, token: exchange.token, until: exchange.tokenExpiresAt, at: now) + [
        // The row is touched even where it is known, so that of two first sign-ins the second one finds the first one's account.
        """
        insert into auth.identity_lookup as known (app, provider, subject, user_id, created_at)
        values (\(app), \(provider.rawValue), \(exchange.identity.subject), \(UUID(exchange.newUser)), \(now))
        on conflict (app, provider, subject) do update set subject = known.subject returning user_id
        """, account(of: exchange.identity, app, provider),
      ]
    let found = try await transaction.batch { batch in for query in queries { batch.add(query) } }
    try mustBeConsumed(found.affectedRows)
    let owner: UUID? = try found.value(of: 2)
    guard let owner else { throw DatabaseError(.queryFailed, "an identity has no owner") }
    session.user = UserID(owner)
    let isNew = session.user == exchange.newUser
    let known: AccountRow? = try found.row(of: 3)
    if !isNew {
      guard let known else { throw DatabaseError(.queryFailed, "an identity has no account") }
      guard !known.isSuspended else { throw Refused(kind: .accountSuspended) }
      guard !known.isDeleting else { throw Refused(kind: .accountDeleting) }
    }
    let activity = Activity(
      user: session.user, app: app, at: now, action: .signedIn, session: session.id, address: session.lastAddress,
      requestID: exchange.requestID)
    let last =
      (isNew ? [insert(exchange, session, at: now)] : [])
      + SessionRow.insert(session, exchange.state) + [ActivityStore.insert(activity)]
    let made = try await transaction.commit { batch in for query in last { batch.add(query) } }
    let row: AccountRow? = isNew ? try made.row(of: 0) : known
    guard let row else { throw DatabaseError(.queryFailed, "an account that was made is not there") }
    return .signedIn(row.account, isNew: isNew)
  }

  // MARK: Step-up

  /// A provider's token that is shown once more, for a session that there is.
  public struct StepUp: Sendable {
    /// SHA-256 of the nonce's text.
    public var nonce: Digest
    /// SHA-256 of the provider's token.
    public var token: Digest
    /// Until when the token could be shown again.
    public var tokenExpiresAt: Instant
    /// What the token says.
    public var identity: VerifiedIdentity
    /// The account, the session and the app that ask.
    public var user: UserID
    /// The session.
    public var session: SessionID
    /// The app.
    public var app: String

    /// A step-up.
    public init(
      nonce: Digest, token: Digest, tokenExpiresAt: Instant, identity: VerifiedIdentity, user: UserID, session: SessionID,
      app: String
    ) {
      self.nonce = nonce
      self.token = token
      self.tokenExpiresAt = tokenExpiresAt
      self.identity = identity
      self.user = user
      self.session = session
      self.app = app
    }
  }

  /// What became of a step-up.
  public enum StepUpOutcome: Sendable {
    /// The session says now that the person was seen.
    case done(SessionRecord)
    /// Nothing has changed.
    case refused(AccountRefusal.Kind)
  }

  /// Notes that a session's person has shown a token of the account's own identity: token, nonce and session in one transaction.
  public func stepUp(
    _ stepUp: StepUp, at now: Instant, for client: SessionStore.Client
  ) async throws(DatabaseError) -> StepUpOutcome {
    try await database.settle(within: patience) { transaction in
      let identity = stepUp.identity
      let queries =
        Self.consume(
          nonce: stepUp.nonce, of: stepUp.app, identity.provider, token: stepUp.token, until: stepUp.tokenExpiresAt, at: now) + [
          """
          select user_id from auth.identity_lookup
          where app = \(stepUp.app) and provider = \(identity.provider.rawValue) and subject = \(identity.subject)
          """,
          """
          update auth.session set authenticated_at = \(now)
          where user_id = \(UUID(stepUp.user)) and id = \(UUID(stepUp.session)) and ended_at is null
            and expires_at > \(now)
          returning \(part: SessionRow.columns)
          """,
        ]
      let found = try await transaction.batch { batch in for query in queries { batch.add(query) } }
      try Self.mustBeConsumed(found.affectedRows)
      let owner: UUID? = try found.value(of: 2)
      guard owner == UUID(stepUp.user) else { throw Refused(kind: .identityMismatch) }
      let row: SessionRow? = try found.row(of: 3)
      guard let row else {
        let cause: String? = try await transaction.value(
          """
          select end_cause from auth.session
          where user_id = \(UUID(stepUp.user)) and id = \(UUID(stepUp.session)) and end_cause is not null
          """)
        throw Refused(kind: try cause.map { try named($0, SessionEnd.self).refusal } ?? .sessionExpired)
      }
      let entry = Activity(
        user: stepUp.user, app: stepUp.app, at: now, action: .reauthenticated, session: stepUp.session, address: client.address,
        requestID: client.requestID)
      transaction.add(ActivityStore.insert(entry))
      return .done(row.record)
    } refused: { error in
      (error as? Refused).map { .refused($0.kind) }
    }
  }

  // MARK: Internals

  private static func insert(_ exchange: Exchange, _ session: SessionRecord, at now: Instant) -> Query {
    let identity = exchange.identity
    return """
      insert into auth.account (
        user_id, app, provider, name, email, email_is_verified, email_is_private, created_at)
      values (
        \(UUID(session.user)), \(session.app), \(session.provider.rawValue), \(exchange.name), \(identity.email),
        \(identity.emailIsVerified), \(identity.emailIsPrivate), \(now))
      returning \(part: AccountRow.columns)
      """
  }

  /// The account of a known identity; no row for one that has just become known.
  ///
  /// The address is the one that was told last; a token without one says nothing about it. The row is locked either way: whoever
  /// suspends or deletes the account at this moment comes first and is obeyed, or finds the session.
  private static func account(of identity: VerifiedIdentity, _ app: String, _ provider: IdentityProvider) -> Query {
    let owner: Query = """
      (select user_id from auth.identity_lookup
      where app = \(app) and provider = \(provider.rawValue) and subject = \(identity.subject))
      """
    guard let email = identity.email else {
      return "select \(part: AccountRow.columns) from auth.account where user_id = \(part: owner) for share"
    }
    return """
      update auth.account set
        email = \(email), email_is_verified = \(identity.emailIsVerified), email_is_private = \(identity.emailIsPrivate)
      where user_id = \(part: owner) returning \(part: AccountRow.columns)
      """
  }
}
