internal import AuthDomain
internal import PostgreSQL
internal import Values

/// A row of `auth.session`: the session, and what its tokens are known by.
struct SessionRow: RowDecodable {
  static let columns: Query = """
    id, user_id, app, provider, device_name, platform, app_version, created_at, authenticated_at, last_used_at, last_address,
    expires_at, ends_at, generation, token_hash, spent_hash, spent_attempt, spent_at, end_cause
    """

  let record: SessionRecord
  let state: RefreshState

  init(_ row: Row) throws(DatabaseError) {
    record = SessionRecord(
      id: SessionID(try row.decode(UUID.self, at: 0)), user: UserID(try row.decode(UUID.self, at: 1)), app: try row.decode(at: 2),
      provider: try named(try row.decode(at: 3)),
      device: Device(name: try row.decode(at: 4), platform: try row.decode(at: 5), appVersion: try row.decode(at: 6)),
      createdAt: try row.decode(Instant.self, at: 7), authenticatedAt: try row.decode(Instant.self, at: 8),
      lastUsedAt: try row.decode(Instant.self, at: 9), lastAddress: try row.decode(at: 10),
      expiresAt: try row.decode(Instant.self, at: 11))
    let generation: Int64 = try row.decode(at: 13)
    let attempt: [UInt8]? = try row.decode(at: 16)
    var spent: RefreshState.Spent?
    if let hash: [UInt8] = try row.decode([UInt8]?.self, at: 15), let at = try row.decode(Instant?.self, at: 17) {
      spent = RefreshState.Spent(
        digest: try Digest(column: hash), attempt: try attempt.map { bytes throws(DatabaseError) in try Digest(column: bytes) },
        at: at)
    }
    let cause: String? = try row.decode(at: 18)
    state = RefreshState(
      current: RefreshState.Current(
        generation: UInt32(truncatingIfNeeded: generation), digest: try Digest(column: try row.decode(at: 14))),
      spent: spent, expiresAt: record.expiresAt, endsAt: try row.decode(Instant.self, at: 12),
      end: try cause.map { text throws(DatabaseError) in try named(text) })
  }

  static func insert(_ session: SessionRecord, _ state: RefreshState) -> [Query] {
    [
      """
      insert into auth.session (
        user_id, id, app, provider, device_name, platform, app_version, created_at, authenticated_at, last_used_at, last_address,
        expires_at, ends_at, generation, token_hash)
      values (
        \(UUID(session.user)), \(UUID(session.id)), \(session.app), \(session.provider.rawValue), \(session.device.name),
        \(session.device.platform), \(session.device.appVersion), \(session.createdAt),
        \(session.authenticatedAt), \(session.lastUsedAt), \(session.lastAddress),
        \(state.expiresAt), \(state.endsAt), \(Int64(state.current.generation)),
        \(state.current.digest.bytes))
      """,
      """
      insert into auth.session_lookup (session_id, user_id, app)
      values (\(UUID(session.id)), \(UUID(session.user)), \(session.app))
      """,
    ]
  }

  /// What a refresh that hands out a token leaves behind.
  static func update(_ session: SessionRecord, _ state: RefreshState, at now: Instant, from address: String) -> Query {
    """
    update auth.session set
      generation = \(Int64(state.current.generation)), token_hash = \(state.current.digest.bytes),
      spent_hash = \(state.spent?.digest.bytes), spent_attempt = \(state.spent?.attempt?.bytes),
      spent_at = \(state.spent.map { $0.at }), expires_at = \(state.expiresAt),
      last_used_at = \(now), last_address = \(address)
    where user_id = \(UUID(session.user)) and id = \(UUID(session.id))
    """
  }

  static func end(_ session: SessionRecord, _ cause: SessionEnd, at now: Instant) -> Query {
    """
    update auth.session set ended_at = \(now), end_cause = \(cause.rawValue)
    where user_id = \(UUID(session.user)) and id = \(UUID(session.id))
    """
  }
}
