internal import Values

/// Buckets as this process last knew them, from whose upper half it takes without asking anybody.
///
/// For limits that let calls pass when nobody can count: asking would cost more than such calls do. What was taken here is told
/// to the database with the first take that goes there, so that a caller of one process gets exactly the burst; one who is spread over
/// several may get half a burst more from each.
///
/// Bounded, in two generations: what is forgotten counts as full, as with a bucket that was removed.
struct BucketMemory {
  private struct Entry {
    var bucket: TokenBucket
    /// Taken here since the database was told last.
    var untold = 0
  }

  private let halfCapacity: Int
  private var young: [String: Entry] = [:]
  private var old: [String: Entry] = [:]

  init(capacity: Int) { halfCapacity = max(1, capacity / 2) }

  var count: Int { young.count + old.count }

  /// Takes a token, if that can be decided here.
  ///
  /// - Returns: The answer, or nil: the database has to say.
  mutating func take(_ key: String, _ rate: BucketRate, at now: Instant) -> BucketAnswer? {
    var entry = remove(key) ?? Entry(bucket: TokenBucket(full: rate, at: now))
    defer { insert(key, entry) }
    _ = entry.bucket.take(0, of: rate, at: now)
    // What has flown back meanwhile has flown back there, too.
    entry.untold = min(entry.untold, rate.burst - entry.bucket.wholeTokens)
    guard entry.bucket.wholeTokens * 2 > rate.burst, entry.bucket.take(1, of: rate, at: now) == 1 else { return nil }
    entry.untold += 1
    return BucketAnswer(refusedUntil: nil, remaining: entry.bucket.wholeTokens, fullAt: entry.bucket.full(of: rate))
  }

  /// How many tokens were taken here that the database does not know of. It is about to.
  mutating func tell(_ key: String) -> Int {
    guard var entry = remove(key) else { return 0 }
    defer { insert(key, entry) }
    defer { entry.untold = 0 }
    return entry.untold
  }

  /// What the database has answered holds from now on.
  mutating func learn(_ key: String, _ answer: BucketAnswer, at now: Instant) {
    var entry = remove(key) ?? Entry(bucket: TokenBucket(tokens: 0, refilledAt: now))
    entry.bucket = TokenBucket(tokens: Double(answer.remaining), refilledAt: now)
    insert(key, entry)
  }

  /// Knows nothing of a bucket any more.
  mutating func forget(_ key: String) { _ = remove(key) }

  private mutating func remove(_ key: String) -> Entry? { young.removeValue(forKey: key) ?? old.removeValue(forKey: key) }

  private mutating func insert(_ key: String, _ entry: Entry) {
    if young.count >= halfCapacity { (old, young) = (young, [:]) }
    young[key] = entry
  }
}
