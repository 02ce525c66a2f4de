/// Times as RevenueCat writes them: `2026-01-02T03:04:05Z`, with or without a fraction or an offset (RFC 3339).
enum RevenueCatTime {
  /// Milliseconds since 1970; nil when the text is no time.
  static func milliseconds(_ text: String) -> Int64? {
    var rest = text.utf8[...]
    guard let year = number(&rest, 4), take(&rest, "-"), let month = number(&rest, 2), take(&rest, "-"),
      let day = number(&rest, 2), take(&rest, "T"), let hour = number(&rest, 2), take(&rest, ":"), let minute = number(&rest, 2),
      take(&rest, ":"), let second = number(&rest, 2), year >= 1, (1...12).contains(month), (1...31).contains(day), hour < 24,
      minute < 60, second <= 60
    else { return nil }
    var fraction: Int64 = 0
    if take(&rest, ".") {
      let digits = rest.prefix { (0x30...0x39).contains($0) }
      guard (1...9).contains(digits.count) else { return nil }
      for place in 0..<3 {
        fraction =
          fraction * 10 + (place < digits.count ? Int64(digits[digits.index(digits.startIndex, offsetBy: place)] - 0x30) : 0)
      }
      rest = rest.dropFirst(digits.count)
    }
    var offset: Int64 = 0
    if !take(&rest, "Z") {
      let sign: Int64 = take(&rest, "+") ? 1 : take(&rest, "-") ? -1 : 0
      guard sign != 0, let hours = number(&rest, 2), take(&rest, ":"), let minutes = number(&rest, 2), hours < 24, minutes < 60
      else { return nil }
      offset = sign * (hours * 3600 + minutes * 60)
    }
    guard rest.isEmpty else { return nil }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
    return seconds * 1000 + fraction
  }

  /// Days since 1970-01-01 in the Gregorian calendar, counted from March so that the leap day is a year's last.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func number(_ rest: inout Substring.UTF8View, _ count: Int) -> Int64? {
    let digits = rest.prefix(count)
    guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    rest = rest.dropFirst(count)
    return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  private static func take(_ rest: inout Substring.UTF8View, _ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest = rest.dropFirst()
    return true
  }
}
