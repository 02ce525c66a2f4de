/// Times of day on days: the five fields of cron. Pure; it knows clocks on walls and nothing of zones.
///
/// Minute, hour, day of the month, month, day of the week (0 and 7 are Sunday), each `*`, a number, a range, a list, or one of these
/// with a step. Where both kinds of day are restricted, a day that fits either of them counts.
struct CronPattern: Sendable, Hashable {
  private let minutes: UInt64
  private let hours: UInt64
  private let days: UInt64
  private let months: UInt64
  private let weekdays: UInt64
  private let isAnyDay: Bool
  private let isAnyWeekday: Bool

  /// Nil when the text is no pattern.
  init?(_ text: String) {
    let fields = text.split(separator: " ", omittingEmptySubsequences: true)
    guard fields.count == 5, let minutes = Self.set(fields[0], 0...59), let hours = Self.set(fields[1], 0...23),
      let days = Self.set(fields[2], 1...31), let months = Self.set(fields[3], 1...12), let weekdays = Self.set(fields[4], 0...7)
    else { return nil }
    (self.minutes, self.hours, self.days, self.months) = (minutes, hours, days, months)
    self.weekdays = weekdays | (weekdays >> 7 & 1)
    (isAnyDay, isAnyWeekday) = (fields[2].first == "*", fields[4].first == "*")
  }

  private static func set(_ field: Substring, _ range: ClosedRange<Int>) -> UInt64? {
    var set: UInt64 = 0
    for part in field.split(separator: ",", omittingEmptySubsequences: false) {
      let halves = part.split(separator: "/", omittingEmptySubsequences: false)
      guard (1...2).contains(halves.count) else { return nil }
      let step = halves.count == 2 ? number(halves[1]) : 1
      guard let step, step > 0 else { return nil }
      let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
      let span: ClosedRange<Int>
      if halves[0] == "*" {
        span = range
      } else if ends.count == 2, let first = number(ends[0]), let last = number(ends[1]), first <= last {
        span = first...last
      } else if ends.count == 1, let only = number(ends[0]) {
        // `5/15` goes on to the end.
        span = only...(halves.count == 2 ? max(only, range.upperBound) : only)
      } else {
        return nil
      }
      guard range.contains(span.lowerBound), range.contains(span.upperBound) else { return nil }
      for value in stride(from: span.lowerBound, through: span.upperBound, by: step) { set |= 1 << value }
    }
    return set == 0 ? nil : set
  }

  private static func number(_ text: Substring) -> Int? {
    guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int(text)
  }

  /// The next times that fit.
  ///
  /// - Parameters:
  ///   - minute: From here on, in minutes since 1970-01-01 00:00 on the same wall.
  ///   - most: How many at most. There are fewer only where nothing fits within nine years, as on 30 February.
  func times(from minute: Int64, atMost most: Int) -> [Int64] {
    var found: [Int64] = []
    let first = minute.divided(by: 1_440)
    for day in first..<(first + 9 * 366) where found.count < most && fits(day: day) {
      for hour in 0..<24 where hours >> hour & 1 == 1 {
        for part in 0..<60 where minutes >> part & 1 == 1 {
          let time = day * 1_440 + Int64(hour * 60 + part)
          if time >= minute && found.count < most { found.append(time) }
        }
      }
    }
    return found
  }

  private func fits(day: Int64) -> Bool {
    let (month, dayOfMonth) = Self.date(day)
    guard months >> month & 1 == 1 else { return false }
    // 1970-01-01 was a Thursday.
    let weekday = (day + 4) - (day + 4).divided(by: 7) * 7
    let (fitsDay, fitsWeekday) = (days >> dayOfMonth & 1 == 1, weekdays >> weekday & 1 == 1)
    return isAnyDay || isAnyWeekday ? fitsDay && fitsWeekday : fitsDay || fitsWeekday
  }

  /// Month and day of a day counted from 1970-01-01, in the Gregorian calendar: years begin with March, so that the leap day is
  /// the last one.
  private static func date(_ day: Int64) -> (month: Int, day: Int) {
    let shifted = day + 719_468
    let ofEra = shifted - shifted.divided(by: 146_097) * 146_097
    let year = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * year + year / 4 - year / 100)
    let month = (5 * ofYear + 2) / 153
    return (Int(month < 10 ? month + 3 : month - 9), Int(ofYear - (153 * month + 2) / 5 + 1))
  }
}

extension Int64 {
  /// Rounded down, also below zero.
  func divided(by divisor: Int64) -> Int64 { (self - ((self % divisor) + divisor) % divisor) / divisor }
}
