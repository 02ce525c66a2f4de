internal import AuthDomain
internal import Limits
internal import PostgreSQL
internal import Values

/// What is written to the ledger.
enum IssuanceStatement {
  /// A token that is about to be handed out.
  struct Issue: Sendable {
    let id: UUID
    let record: IssuanceRecord
    /// How many of its capability the person may have on the record's day.
    let cap: Int32
    /// Whose account is looked for.
    let holder: TokenHolder
    /// The token of the person's bucket, where it is taken with this.
    let take: PreparedTake?
  }

  private static let stopped = "CAPABILITY_STOPPED"
  private static let callerStopped = "CALLER_STOPPED"
  private static let capReached = "CAP_REACHED"
  /// Never stored: such a line is not written.
  private static let limited = "LIMITED"

  /// Adds records as they are.
  static func insert(_ records: [IssuanceRecord]) -> Query {
    """
    insert into auth.token_issuance (
      id, subject_hash, issued_at, audience, capability, account, scope, expires_at, client_address, request_id, outcome, reason)
    select q.id, q.subject_hash, q.issued_at, q.audience, q.capability, q.account, q.scope, nullif(q.expires_at, 'infinity'),
      q.client_address, q.request_id, q.outcome, q.reason
    from unnest(
      \(records.map { UUID.v7(at: $0.at) }), \(part: columns(records)), \(records.map(\.outcome.rawValue)),
      \(records.map(\.reason)))
      as q (id, subject_hash, issued_at, audience, capability, account, scope, expires_at, client_address, request_id, outcome, reason)
    """
  }

  /// Judges what is about to be handed out, counts it, and adds the records of what became of it.
  ///
  /// Rows of the count are locked in the order of their keys, so that two statements never wait for each other. Of several tokens
  /// of one person the first get what is left of the day. What was refused by a bucket is neither counted nor written.
  ///
  /// - Parameter buckets: The takes of those that have one, whose statement comes before this one in the same transaction.
  static func issue(_ issues: [Issue], _ buckets: BucketTakes?) -> Query {
    let records = issues.map(\.record)
    var taken = 0
    let turns = issues.map { issue -> (key: String, turn: Int) in
      guard issue.take != nil, let buckets else { return ("", 0) }
      defer { taken += 1 }
      return buckets.turn(taken)
    }
    return """
      with asked as (
        select q.*, (q.issued_at at time zone 'UTC')::date as day,
          case
            when q.bucket <> ''
              and coalesce((select taken.granted from auth.rate_limit as taken where taken.key = q.bucket), q.turn) < q.turn
              then \(limited)
            when exists (
              select from auth.kill_switch s
              where s.is_stopped and s.capability in (\(KillSwitch.all), q.capability) and s.subject_hash = '') then \(stopped)
            when exists (
              select from auth.kill_switch s
              where s.is_stopped and s.capability in (\(KillSwitch.all), q.capability) and s.subject_hash = q.subject_hash)
              or exists (
                select from auth.identity_lookup i join auth.account a on a.user_id = i.user_id
                where i.app = any(string_to_array(q.apps, ' ')) and i.provider = 'google' and i.subject = q.holder
                  and a.suspended_at is not null) then \(callerStopped)
            else '' end as stop
        from unnest(
          \(issues.map(\.id)), \(part: columns(records)), \(issues.map(\.cap)), \(issues.map(\.holder.subject)),
          \(issues.map { $0.holder.apps.joined(separator: " ") }), \(turns.map(\.key)),
          \(turns.map { Int32(clamping: $0.turn) })) with ordinality
          as q (
            id, subject_hash, issued_at, audience, capability, account, scope, expires_at, client_address, request_id, cap, holder,
            apps, bucket, turn, place)
      ), wanted as (
        select subject_hash collate "C" as subject_hash, capability collate "C" as capability, day, count(*)::integer as asked,
          min(cap) as cap
        from asked where stop = '' group by 1, 2, 3
      ), counted as (
        insert into auth.capability_use as use (subject_hash, capability, day, issued, asked, cap, granted)
        select subject_hash, capability, day, least(asked, cap), asked, cap, least(asked, cap)
        from wanted order by subject_hash, capability, day
        on conflict (subject_hash, capability, day) do update set
          issued = use.issued + greatest(0, least(excluded.asked, excluded.cap - use.issued)),
          asked = excluded.asked,
          cap = excluded.cap,
          granted = greatest(0, least(excluded.asked, excluded.cap - use.issued))
        returning subject_hash, capability, day, granted
      ), judged as (
        select a.*, case
          when a.stop <> '' then a.stop
          when row_number() over (partition by a.subject_hash, a.capability, a.day, a.stop order by a.place)
            > coalesce(c.granted, 0) then \(capReached)
          else '' end as reason
        from asked a left join counted c
          on c.subject_hash = a.subject_hash and c.capability = a.capability and c.day = a.day
      )
      insert into auth.token_issuance (
        id, subject_hash, issued_at, audience, capability, account, scope, expires_at, client_address, request_id, outcome, reason)
      select id, subject_hash, issued_at, audience, capability, account, scope,
        case when reason = '' then nullif(expires_at, 'infinity') end, client_address, request_id,
        case when reason = '' then 'issued' else 'denied' end, reason
      from judged where reason <> \(limited)
      returning id, reason
      """
  }

  /// What a returned reason means; an issue that came back without one was not written, and is not handed out.
  static func decision(_ reason: String?) -> IssuanceDecision {
    switch reason {
    case "": .issued
    case capReached: .capReached
    case callerStopped: .callerStopped
    default: .stopped
    }
  }

  private static func columns(_ records: [IssuanceRecord]) -> Query {
    // An array has no NULLs here: the end of time stands for a token whose end is not known.
    let expiries = records.map { $0.expiresAt ?? .distantFuture }
    return """
      \(records.map(\.subject.description)), \(records.map(\.at)), \(records.map(\.audience)),
      \(records.map(\.capability)), \(records.map(\.account)), \(records.map(\.scope)), \(expiries),
      \(records.map(\.address)), \(records.map(\.requestID))
      """
  }
}
