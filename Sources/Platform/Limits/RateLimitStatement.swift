internal import PostgreSQL
internal import Values

/// The sums of ``TokenBucket`` in SQL, atomic for each bucket.
enum RateLimitStatement {
  /// Refills the buckets and takes up to as many tokens as are asked for of each.
  ///
  /// Rows are locked in the order of their keys, so that two statements never wait for each other. The caller's time counts up to
  /// `lead` ahead of the database's, and what another caller has left in a bucket counts no further either. Of a person whose account
  /// is gone there is no row, and none comes back.
  static func take(
    _ keys: [String], asked: [Int32], _ rate: BucketRate, at now: Instant, lead: Duration?, in schema: StaticString,
    unlessGone isGone: RateLimitStore.GoneCondition? = nil
  ) -> Query {
    let burst = Double(rate.burst)
    let time = capped("\(now)", lead)
    let touched: Query = lead == nil ? "bucket.touched_at" : "least(bucket.touched_at, \(part: latest(lead)))"
    let level: Query = """
      least(\(burst), bucket.tokens
        + greatest(0, extract(epoch from excluded.touched_at - \(part: touched))::float8) * \(rate.perSecond))
      """
    let granted: Query = "least(excluded.asked, floor(\(part: level) + \(TokenBucket.rounding))::integer)"
    return """
      insert into \(fragment: schema).rate_limit as bucket (key, tokens, touched_at, asked, granted)
      select q.key, \(burst) - least(q.asked, \(burst)), \(part: time), q.asked, least(q.asked, \(burst))::integer
      from \(part: source(keys, asked, unlessGone: isGone))
      order by q.key collate "C"
      on conflict (key) do update set
        tokens = greatest(0, \(part: level) - \(part: granted)),
        touched_at = greatest(\(part: touched), excluded.touched_at),
        asked = excluded.asked,
        granted = \(part: granted)
      returning key, granted::bigint, tokens, touched_at
      """
  }

  private static func source(_ keys: [String], _ asked: [Int32], unlessGone isGone: RateLimitStore.GoneCondition?) -> Query {
    guard let isGone else { return "unnest(\(keys), \(asked)) as q (key, asked)" }
    return """
      unnest(\(keys), \(asked), \(keys.map { person(in: $0) ?? nobody })) as q (key, asked, person)
      where q.person = \(nobody) or not \(part: isGone("q.person"))
      """
  }

  /// Whose bucket it is, if a UUID says that.
  private static func person(in key: String) -> UUID? {
    let bytes = key.utf8
    guard bytes.count > 36, bytes.dropLast(36).last == UInt8(ascii: ":") else { return nil }
    return UUID(String(key.suffix(36)))
  }

  private static let nobody = UUID(high: 0, low: 0)

  /// Whether the last statement that took from a bucket got so many tokens: for those behind it in the same transaction. Where there is no
  /// bucket, since the person's account is gone, nothing is refused.
  static func isGranted(_ key: Query, turn: Query, in schema: StaticString) -> Query {
    """
    coalesce((select taken.granted from \(fragment: schema).rate_limit as taken where taken.key = \(part: key)), \(part: turn))
      >= \(part: turn)
    """
  }

  /// A time of the caller's, no further ahead of the database's own than it may be.
  static func capped(_ time: Query, _ lead: Duration?) -> Query {
    lead == nil ? time : "least(\(part: time), \(part: latest(lead)))"
  }

  private static func latest(_ lead: Duration?) -> Query {
    let seconds = (lead ?? .zero) / .seconds(1)
    return "clock_timestamp() + make_interval(secs => \(seconds))"
  }
}
