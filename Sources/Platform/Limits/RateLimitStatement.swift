internal import PostgreSQL

/// The sums of ``TokenBucket`` in SQL, atomic for each bucket.
enum RateLimitStatement {
  /// Refills the buckets and takes up to as many tokens as are asked for of each.
  ///
  /// Rows are locked in the order of their keys, so that two statements never wait for each other. The caller's time counts up to
  /// `lead` ahead of the database's, and what another caller has left in a bucket counts no further either.
  static func take(
    _ keys: [String], asked: [Int32], _ rate: BucketRate, at now: Timestamp, lead: Duration?, in schema: StaticString
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
      from unnest(\(keys), \(asked)) as q (key, asked)
      order by q.key collate "C"
      on conflict (key) do update set
        tokens = greatest(0, \(part: level) - \(part: granted)),
        touched_at = greatest(\(part: touched), excluded.touched_at),
        asked = excluded.asked,
        granted = \(part: granted)
      returning key, granted::bigint, tokens, touched_at
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
