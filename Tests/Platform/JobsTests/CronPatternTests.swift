import PostgreSQL
import Testing

@testable import Jobs

@Suite("Schedules: patterns")
struct CronPatternTests {
  /// Minutes since 1970-01-01 on a wall.
  private static func minute(_ day: Int64, _ hour: Int64 = 0, _ minute: Int64 = 0) -> Int64 { day * 1_440 + hour * 60 + minute }

  // Days since 1970-01-01: 2027-01-01, a Friday, is 20819; 2028-02-29, a Tuesday, is 21243; 2100-03-01 is 47541.
  @Test(
    "JOB-S4: each field is a star, a number, a range, a list or one of them with a step",
    arguments: [
      ("30 20 * * *", minute(20_819), [minute(20_819, 20, 30), minute(20_820, 20, 30)]),
      ("*/20 6-7 * * *", minute(20_819), [minute(20_819, 6), minute(20_819, 6, 20), minute(20_819, 6, 40), minute(20_819, 7)]),
      ("5,50 0 * * *", minute(20_819, 0, 6), [minute(20_819, 0, 50), minute(20_820, 0, 5)]),
      ("50/5 3 * * *", minute(20_819), [minute(20_819, 3, 50), minute(20_819, 3, 55), minute(20_820, 3, 50)]),
      ("0 0 29 2 *", minute(20_819), [minute(21_243), minute(22_704)]),
      ("0 0 1 3 *", minute(47_500), [minute(47_541)]),
      ("0 9 * * 1-5", minute(20_820), [minute(20_822, 9)]),
      ("0 9 * * 0", minute(20_819), [minute(20_821, 9)]), ("0 9 * * 7", minute(20_819), [minute(20_821, 9)]),
      // Both kinds of day: either.
      ("0 0 13 * 5", minute(20_820), [minute(20_826), minute(20_831), minute(20_833)]),
      ("0 0 31 12 *", minute(-1), [minute(-1), minute(364)]),
    ])
  func times(pattern: String, from: Int64, expected: [Int64]) throws {
    #expect(try #require(CronPattern(pattern)).times(from: from, atMost: expected.count) == expected)
  }

  @Test("JOB-S4: a time that fits is itself the next one, and what never comes is none")
  func edges() throws {
    let pattern = try #require(CronPattern("30 20 * * *"))
    #expect(pattern.times(from: Self.minute(20_819, 20, 30), atMost: 1) == [Self.minute(20_819, 20, 30)])
    #expect(pattern.times(from: Self.minute(20_819, 20, 31), atMost: 1) == [Self.minute(20_820, 20, 30)])
    #expect(try #require(CronPattern("0 0 30 2 *")).times(from: 0, atMost: 1).isEmpty)
  }

  @Test(
    "What is no pattern is refused",
    arguments: [
      "", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 0 *", "* * * 13 *", "* * * * 8",
      "5-3 * * * *", "*/0 * * * *", "1,,2 * * * *", "a * * * *", "-1 * * * *", "1-2-3 * * * *", "*/2/3 * * * *", "+1 * * * *",
    ])
  func refusals(text: String) { #expect(CronPattern(text) == nil) }
}
