internal import PostgreSQL

/// The sums of ``TokenBucket`` in SQL, atomic for each bucket.
enum RateLimitStatement {
  /// Refills the buckets and takes up to as many tokens as are asked for of each.
  ///
  /// Rows are locked in the order of their keys, so that two statements never wait for each other.
  static func take(_ keys: [String], asked: [Int32], _ rate: BucketRate, at now: Timestamp, in schema: StaticString) -> Query {
    let burst = Double(rate.burst)
    let level: Query = """
      least(\(burst), bucket.tokens
        + greatest(0, extract(epoch from excluded.touched_at - bucket.touched_at)::float8) * \(rate.perSecond))
      """
    let granted: Query = "least(excluded.asked, floor(\(part: level) + \(TokenBucket.rounding))::integer)"
    return """
      insert into \(fragment: schema).rate_limit as bucket (key, tokens, touched_at, asked, granted)
      select q.key, \(burst) - least(q.asked, \(burst)), \(now), q.asked, least(q.asked, \(burst))::integer
      from unnest(\(keys), \(asked)) as q (key, asked)
      order by q.key collate "C"
      on conflict (key) do update set
        tokens = greatest(0, \(part: level) - \(part: granted)),
        touched_at = greatest(bucket.touched_at, excluded.touched_at),
        asked = excluded.asked,
        granted = \(part: granted)
      returning key, granted::bigint, tokens, touched_at
      """
  }
}
