public import AuthDomain
internal import EventLoop
public import PostgreSQL
public import Values

/// What providers have granted for people, in `auth.provider_grant`. Secrets come and go sealed.
public struct ProviderGrantStore: Sendable {
  /// A code that a token is still to be got for.
  public struct PendingCode: Sendable {
    /// What it is for.
    public var grant: ProviderGrant
    /// The code, sealed.
    public var sealed: [UInt8]
    /// When it serves no more.
    public var expiresAt: Instant
  }

  /// A token that can be revoked.
  public struct HeldToken: Sendable {
    /// What was granted.
    public var grant: ProviderGrant
    /// The token, sealed.
    public var sealed: [UInt8]
    /// The name of the key that it is sealed with.
    public var sealedWith: String

    /// A token, sealed.
    public init(grant: ProviderGrant, sealed: [UInt8], sealedWith: String) {
      self.grant = grant
      self.sealed = sealed
      self.sealedWith = sealedWith
    }
  }

  private let database: Database
  /// How long one statement may take.
  private let patience: Duration

  /// The grants in `database`.
  public init(_ database: Database, patience: Duration = .seconds(5)) {
    self.database = database
    self.patience = patience
  }

  private var deadline: MonotonicInstant { MonotonicInstant.now().advanced(by: patience) }

  private static func key(_ grant: ProviderGrant) -> Query {
    "user_id = \(UUID(grant.user)) and provider = \(grant.provider.rawValue) and client_id = \(grant.clientID)"
  }

  // MARK: Codes

  /// Keeps the code of a sign-in, in the place of one that no token was got for yet: either gets one.
  ///
  /// - Parameters:
  ///   - sealed: The code, sealed.
  ///   - grant: What it is for.
  ///   - now: The time.
  ///   - patience: How long it may take: somebody who signs in waits for it.
  public func keep(code sealed: [UInt8], for grant: ProviderGrant, at now: Instant, within patience: Duration)
    async throws(DatabaseError)
  {
    try await database.execute(
      """
      insert into auth.provider_grant as known (user_id, provider, client_id, sealed_code, code_expires_at, code_due_at)
      select user_id, \(grant.provider.rawValue), \(grant.clientID), \(sealed),
        \(now.advanced(by: ProviderGrant.codeLifetime)), \(now)
      from auth.account where user_id = \(UUID(grant.user)) and deleting_at is null for share
      on conflict (user_id, provider, client_id) do update set sealed_code = excluded.sealed_code,
        code_expires_at = excluded.code_expires_at, code_due_at = excluded.code_due_at
      """, deadline: MonotonicInstant.now().advanced(by: patience))
  }

  /// Takes codes whose turn it is, for as long as `lease`: whoever takes one and dies leaves it to be taken again after that.
  ///
  /// - Parameters:
  ///   - user: Whose; nil for anybody's.
  ///   - limit: The most to take.
  ///   - lease: For how long nobody else takes them.
  ///   - now: The time.
  public func claimCodes(
    of user: UserID? = nil, atMost limit: Int, for lease: Duration, at now: Instant
  ) async throws(DatabaseError) -> [PendingCode] {
    let owner = user.map { UUID($0) }
    let rows: [(UUID, String, String, [UInt8], Instant)] = try await database.rows(
      """
      update auth.provider_grant set code_due_at = \(now.advanced(by: lease))
      where (user_id, provider, client_id) in (
        select user_id, provider, client_id from auth.provider_grant
        where code_due_at <= \(now) and (\(owner)::uuid is null or user_id = \(owner))
        order by code_due_at limit \(Int64(limit)) for update skip locked)
      returning user_id, provider, client_id, sealed_code, code_expires_at
      """, deadline: deadline)
    return try rows.map { row throws(DatabaseError) in
      PendingCode(
        grant: ProviderGrant(user: UserID(row.0), provider: try named(row.1), clientID: row.2), sealed: row.3,
        expiresAt: row.4)
    }
  }

  /// Whether a token is still to be got for a code of the person's.
  public func hasCode(of user: UserID) async throws(DatabaseError) -> Bool {
    try await database.value(
      "select exists (select from auth.provider_grant where user_id = \(UUID(user)) and sealed_code is not null)",
      deadline: deadline) ?? false
  }

  /// Puts a code off that could not be exchanged.
  public func postpone(_ code: PendingCode, until moment: Instant, failure: String, at now: Instant) async throws(DatabaseError) {
    try await database.execute(
      """
      update auth.provider_grant set code_due_at = \(moment), failure = \(failure), failed_at = \(now)
      where \(part: Self.key(code.grant)) and sealed_code = \(code.sealed)
      """, deadline: deadline)
  }

  /// Gives a code up. A token from before stays what it was.
  public func giveUp(_ code: PendingCode, failure: String, at now: Instant) async throws(DatabaseError) {
    try await database.execute(
      """
      update auth.provider_grant set sealed_code = null, code_expires_at = null, code_due_at = null, failure = \(failure),
        failed_at = \(now)
      where \(part: Self.key(code.grant)) and sealed_code = \(code.sealed)
      """, deadline: deadline)
  }

  /// Keeps the token that was got for a code, in the place of an older one.
  ///
  /// - Returns: False when there is no such account any more: nobody would ever revoke the token.
  public func keep(token: HeldToken, for code: PendingCode, at now: Instant) async throws(DatabaseError) -> Bool {
    try await database.execute(
      """
      update auth.provider_grant set sealed_token = \(token.sealed), sealed_with = \(token.sealedWith),
        granted_at = \(now), ended_at = null, ending = null, failed_at = null, failure = null,
        sealed_code = case when sealed_code = \(code.sealed) then null else sealed_code end,
        code_expires_at = case when sealed_code = \(code.sealed) then null else code_expires_at end,
        code_due_at = case when sealed_code = \(code.sealed) then null else code_due_at end
      where \(part: Self.key(token.grant))
      """, deadline: deadline) == 1
  }

  // MARK: Tokens

  /// A person's tokens.
  public func tokens(of user: UserID) async throws(DatabaseError) -> [HeldToken] {
    try await held(
      """
      select user_id, provider, client_id, sealed_token, sealed_with from auth.provider_grant
      where user_id = \(UUID(user)) and sealed_token is not null order by provider, client_id
      """)
  }

  /// Puts on record that a token is none any more, and forgets it.
  public func end(_ token: HeldToken, _ ending: ProviderGrant.Ending, at now: Instant) async throws(DatabaseError) {
    try await database.execute(
      """
      update auth.provider_grant set sealed_token = null, sealed_with = null, ended_at = \(now),
        ending = \(ending.rawValue), failed_at = null, failure = null
      where \(part: Self.key(token.grant)) and sealed_token = \(token.sealed)
      """, deadline: deadline)
  }

  /// Puts on record why a token could not be revoked.
  public func fail(_ token: HeldToken, failure: String, at now: Instant) async throws(DatabaseError) {
    try await database.execute(
      """
      update auth.provider_grant set failed_at = \(now), failure = \(failure)
      where \(part: Self.key(token.grant)) and sealed_token = \(token.sealed)
      """, deadline: deadline)
  }

  /// The statements that end a person's grants that are not younger than `moment`, and forget codes of that time.
  static func end(
    of user: UserID, _ notice: ProviderNotice, _ ending: ProviderGrant.Ending, before moment: Instant, at now: Instant
  ) -> [Query] {
    let concerned: Query = """
      user_id = \(UUID(user)) and provider = \(notice.provider.rawValue)
        and (\(notice.kind == .accountDeleted) or client_id = \(notice.clientID))
      """
    return [
      """
      update auth.provider_grant set sealed_token = null, sealed_with = null, ended_at = \(now),
        ending = \(ending.rawValue)
      where \(part: concerned) and sealed_token is not null and granted_at <= \(moment)
      """,
      """
      update auth.provider_grant set sealed_code = null, code_expires_at = null, code_due_at = null
      where \(part: concerned) and code_expires_at <= \(moment.advanced(by: ProviderGrant.codeLifetime))
      """,
    ]
  }

  // MARK: Sealing anew

  /// Tokens that are sealed with another key than this one, in an order of their own.
  ///
  /// - Parameters:
  ///   - name: The key.
  ///   - last: The last one of the page before.
  ///   - limit: The most to answer.
  public func tokens(
    notSealedWith name: String, after last: HeldToken?, limit: Int
  ) async throws(DatabaseError) -> [HeldToken] {
    let place: Query =
      if let last {
        """
        (sealed_with, user_id, provider, client_id)
          > (\(last.sealedWith), \(UUID(last.grant.user)), \(last.grant.provider.rawValue), \(last.grant.clientID))
        """
      } else { "true" }
    return try await held(
      """
      select user_id, provider, client_id, sealed_token, sealed_with from auth.provider_grant
      where (sealed_with < \(name) or sealed_with > \(name)) and \(part: place)
      order by sealed_with, user_id, provider, client_id limit \(Int64(limit))
      """)
  }

  /// Replaces a sealed token, unless another copy has done so or it is another one by now.
  ///
  /// - Returns: Whether it was replaced.
  public func rewrap(_ token: HeldToken, as bytes: [UInt8], with name: String) async throws(DatabaseError) -> Bool {
    try await database.execute(
      """
      update auth.provider_grant set sealed_token = \(bytes), sealed_with = \(name)
      where \(part: Self.key(token.grant)) and sealed_token = \(token.sealed)
      """, deadline: deadline) == 1
  }

  private func held(_ query: Query) async throws(DatabaseError) -> [HeldToken] {
    let rows: [(UUID, String, String, [UInt8], String)] = try await database.rows(query, deadline: deadline)
    return try rows.map { row throws(DatabaseError) in
      HeldToken(
        grant: ProviderGrant(user: UserID(row.0), provider: try named(row.1), clientID: row.2), sealed: row.3,
        sealedWith: row.4)
    }
  }
}
