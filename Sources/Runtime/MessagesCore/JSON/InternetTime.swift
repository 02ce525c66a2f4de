/// Times as JSON carries them between programs: `2026-01-02T03:04:05Z` (RFC 3339, as `google.protobuf.Timestamp` narrows it).
public enum InternetTime {
  /// The seconds of the years 1 to 9999.
  static let range: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// Reads a time of the years 1 to 9999.
  ///
  /// Strict: `T` and `Z` are capitals, a day is one that its month has, a second is below 60 (who smears leap seconds writes none),
  /// a fraction has one to nine digits, an offset is `±hh:mm`, and nothing stands around it.
  ///
  /// - Parameter text: The whole text.
  /// - Returns: Seconds since 1970, rounded down, and the nanoseconds beyond them (0 to 999,999,999); nil when the text is no time.
  public static func parse(_ text: String) -> (seconds: Int64, nanos: Int32)? {
    var scanner = DigitScanner(text)
    guard let year = scanner.number(4), scanner.take("-"), let month = scanner.number(2), scanner.take("-"),
      let day = scanner.number(2), scanner.take("T"), let hour = scanner.number(2), scanner.take(":"),
      let minute = scanner.number(2), scanner.take(":"), let second = scanner.number(2),
      year >= 1, (1...12).contains(month), (1...CivilDate.days(inMonth: month, year: year)).contains(day), hour < 24, minute < 60,
      second < 60
    else { return nil }
    guard let nanos = scanner.fraction() else { return nil }
    var offset = 0
    if !scanner.take("Z") {
      let sign = scanner.take("+") ? 1 : scanner.take("-") ? -1 : 0
      guard sign != 0, let hours = scanner.number(2), scanner.take(":"), let minutes = scanner.number(2), hours < 24, minutes < 60
      else { return nil }
      offset = sign * (hours * 3600 + minutes * 60)
    }
    guard scanner.isAtEnd else { return nil }
    let days = CivilDate.daysSinceEpoch(year: year, month: month, day: day)
    let seconds = Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second - offset)
    return range.contains(seconds) ? (seconds, nanos) : nil
  }
}
