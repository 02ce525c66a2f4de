import Limits
import PostgreSQL
import Testing
import Values

@Suite("Token buckets")
struct TokenBucketTests {
  private static let limit = BucketRate(perMinute: 60, burst: 30)
  private static let start = Instant(seconds: 1_800_000_000)

  @Test("B-16: a new bucket holds its burst and not one more")
  func burst() {
    var bucket = TokenBucket(full: Self.limit, at: Self.start)
    for _ in 1...30 { #expect(bucket.take(1, of: Self.limit, at: Self.start) == 1) }
    #expect(bucket.take(1, of: Self.limit, at: Self.start) == 0)
    #expect(bucket.refill(of: Self.limit).duration(since: Self.start) <= .seconds(1))
  }

  @Test("B-15: a token is back after exactly one refill interval, and a refused take consumes nothing")
  func refill() {
    var bucket = TokenBucket(tokens: 0, refilledAt: Self.start)
    for tenth in 1...9 { #expect(bucket.take(1, of: Self.limit, at: Self.start.advanced(by: .milliseconds(100 * tenth))) == 0) }
    #expect(bucket.take(1, of: Self.limit, at: Self.start.advanced(by: .seconds(1))) == 1)
    #expect(bucket.take(1, of: Self.limit, at: Self.start.advanced(by: .seconds(1))) == 0)
  }

  @Test("A clock that goes back neither fills a bucket nor empties it")
  func clockGoesBack() {
    var bucket = TokenBucket(tokens: 2, refilledAt: Self.start)
    #expect(bucket.take(1, of: Self.limit, at: Self.start.advanced(by: .seconds(-3600))) == 1)
    #expect(bucket.take(2, of: Self.limit, at: Self.start) == 1)
  }

  @Test("A remembered refusal holds until its moment, and the memory stays bounded")
  func refusalMemory() {
    var memory = RefusalMemory<String>(capacity: 100)
    let until = Self.start.advanced(by: .seconds(1))
    memory.remember("192.0.2.1", until: until)
    #expect(memory.refusal(of: "192.0.2.1", at: Self.start) == until)
    #expect(memory.refusal(of: "192.0.2.1", at: until) == nil)
    #expect(memory.refusal(of: "192.0.2.2", at: Self.start) == nil)
    for number in 0..<10_000 { memory.remember("\(number)", until: until) }
    #expect(memory.count <= 100)
    #expect(memory.refusal(of: "9999", at: Self.start) == until)
    #expect(memory.refusal(of: "0", at: Self.start) == nil)
  }

  @Test("A bucket is full again after as long as its missing tokens take, less the microsecond that sums are rounded by")
  func full() {
    var bucket = TokenBucket(full: Self.limit, at: Self.start)
    #expect(bucket.full(of: Self.limit) == Self.start && bucket.wholeTokens == 30)
    #expect(bucket.take(12, of: Self.limit, at: Self.start) == 12)
    let wait = bucket.full(of: Self.limit).duration(since: Self.start)
    #expect(wait <= .seconds(12) && wait >= .seconds(12) - .microseconds(1) && bucket.wholeTokens == 18)
  }
}
