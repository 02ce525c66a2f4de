/// The `Retry-After` field (RFC 9110, 10.2.3): whole seconds, or a date in the fixed form.
package enum RetryAfter {
  /// The wait that the field asks for, never negative; nil when it is malformed.
  package static func delay(of value: String, unixSeconds: Int64) -> Duration? {
    if !value.isEmpty, value.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) {
      return .seconds(min(Int64(value) ?? .max, 1 << 32))
    }
    return unixTime(of: value).map { .seconds(max(0, $0 - unixSeconds)) }
  }

  /// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`.
  static func unixTime(of date: String) -> Int64? {
    let parts = date.split(separator: " ")
    guard parts.count == 6, parts[5] == "GMT", let day = Int64(parts[1]), let year = Int64(parts[3]) else { return nil }
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let time = parts[4].split(separator: ":").compactMap { Int64($0) }
    guard let month = months.firstIndex(of: String(parts[2])), time.count == 3, (1...31).contains(day),
      (1970...9999).contains(year),
      (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(time[2])
    else { return nil }
    return days(year: year, month: Int64(month + 1), day: day) * 86_400 + time[0] * 3_600 + time[1] * 60 + time[2]
  }

  /// Days since 1970-01-01 in the Gregorian calendar, counted from March so that the leap day is a year's last.
  private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
