import PostgreSQL
import Testing
import Values

@testable import Limits

@Suite("Buckets in memory")
struct BucketMemoryTests {
  private static let rate = BucketRate(perMinute: 60, burst: 10)
  private static let start = Instant(seconds: 1_800_000_000)

  @Test("The upper half is taken here, and what has flown back is told to nobody (PF-10)")
  func half() {
    var memory = BucketMemory(capacity: 10)
    for left in (5..<10).reversed() { #expect(memory.take("a", Self.rate, at: Self.start)?.remaining == left) }
    #expect(memory.take("a", Self.rate, at: Self.start) == nil)
    // Two have flown back: one is taken, and four of six are news.
    let later = Self.start.advanced(by: .seconds(2))
    #expect(memory.take("a", Self.rate, at: later)?.remaining == 6)
    #expect(memory.tell("a") == 4)
    #expect(memory.tell("a") == 0 && memory.tell("nobody") == 0)
  }

  @Test("What the database answers holds, also where it is less")
  func learned() {
    var memory = BucketMemory(capacity: 10)
    _ = memory.take("a", Self.rate, at: Self.start)
    memory.learn("a", BucketAnswer(refusedUntil: nil, remaining: 2, fullAt: Self.start), at: Self.start)
    #expect(memory.take("a", Self.rate, at: Self.start) == nil)
    #expect(memory.take("a", Self.rate, at: Self.start.advanced(by: .seconds(4)))?.remaining == 5)
  }

  @Test("A bucket of one is taken here once")
  func one() {
    var memory = BucketMemory(capacity: 10)
    let once = BucketRate(perMinute: 1, burst: 1)
    #expect(memory.take("a", once, at: Self.start)?.remaining == 0)
    #expect(memory.take("a", once, at: Self.start) == nil)
  }

  @Test("It remembers as many as it may, and forgets the oldest")
  func bounded() {
    var memory = BucketMemory(capacity: 100)
    for number in 0..<1_000 { _ = memory.take("k\(number)", Self.rate, at: Self.start) }
    #expect(memory.count <= 101)
    #expect(memory.take("k999", Self.rate, at: Self.start)?.remaining == 8)
    #expect(memory.take("k0", Self.rate, at: Self.start)?.remaining == 9)
  }
}
