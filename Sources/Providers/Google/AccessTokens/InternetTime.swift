/// Times as Google's JSON writes them (RFC 3339).
enum InternetTime {
  /// Seconds since 1970 of `2026-01-02T03:19:05Z`; a fraction of a second is cut off, other offsets are taken into account. Nil
  /// for anything else.
  static func seconds(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes[4] == 0x2d, bytes[7] == 0x2d, bytes[10] | 0x20 == 0x74, bytes[13] == 0x3a, bytes[16] == 0x3a,
      let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10]),
      let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
      (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60,
      let offset = offset(bytes[19...])
    else { return nil }
    return days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
  }

  /// The seconds that the zone is ahead of UTC, after an optional fraction.
  private static func offset(_ rest: ArraySlice<UInt8>) -> Int64? {
    var rest = rest
    if rest.first == 0x2e {
      let digits = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
      guard !digits.isEmpty else { return nil }
      rest = rest[digits.endIndex...]
    }
    guard let sign = rest.first else { return nil }
    if sign | 0x20 == 0x7a { return rest.count == 1 ? 0 : nil }
    let zone = Array(rest.dropFirst())
    guard sign == 0x2b || sign == 0x2d, zone.count == 5, zone[2] == 0x3a, let hours = number(zone[0..<2]),
      let minutes = number(zone[3..<5]), hours < 24, minutes < 60
    else { return nil }
    return (hours * 3600 + minutes * 60) * (sign == 0x2d ? -1 : 1)
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    var value: Int64 = 0
    for digit in digits {
      guard (0x30...0x39).contains(digit) else { return nil }
      value = value * 10 + Int64(digit - 0x30)
    }
    return value
  }

  /// Days since 1970 in the Gregorian calendar, counted in years that begin in March: the leap day is then the last one.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month > 2 ? year : year - 1
    let month = (month + 9) % 12
    return year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468
  }
}
