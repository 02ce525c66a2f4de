/// `google.protobuf.Timestamp` in JSON: RFC 3339 in UTC, years 1 to 9999, with 0, 3, 6 or 9 digits of a second. ``InternetTime`` reads it.
enum JSONTimestamp {
  static func text(seconds: Int64, nanos: Int32) -> String? {
    guard InternetTime.range.contains(seconds), (0...999_999_999).contains(nanos) else { return nil }
    let days = (seconds - (seconds % 86_400 + 86_400) % 86_400) / 86_400
    let second = Int(seconds - days * 86_400)
    let (year, month, day) = CivilDate.date(daysSinceEpoch: Int(days))
    let time = "\(pad(second / 3600, 2)):\(pad(second / 60 % 60, 2)):\(pad(second % 60, 2))"
    return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(time)\(fraction(nanos))Z"
  }

  static func pad(_ number: Int, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }

  /// A fraction with the fewest of 0, 3, 6 or 9 digits.
  static func fraction(_ nanos: Int32) -> String {
    let nanos = Int(nanos)
    if nanos == 0 { return "" }
    if nanos % 1_000_000 == 0 { return ".\(pad(nanos / 1_000_000, 3))" }
    if nanos % 1_000 == 0 { return ".\(pad(nanos / 1_000, 6))" }
    return ".\(pad(nanos, 9))"
  }
}

/// `google.protobuf.Duration` in JSON: seconds with up to nine digits of fraction and the suffix `s`.
enum JSONDuration {
  static let limit: Int64 = 315_576_000_000

  static func text(seconds: Int64, nanos: Int32) -> String? {
    guard (-limit...limit).contains(seconds), (-999_999_999...999_999_999).contains(nanos) else { return nil }
    guard seconds == 0 || nanos == 0 || (seconds < 0) == (nanos < 0) else { return nil }
    let sign = seconds < 0 || nanos < 0 ? "-" : ""
    return "\(sign)\(seconds.magnitude)\(JSONTimestamp.fraction(Int32(nanos.magnitude)))s"
  }

  static func parse(_ text: String) -> (seconds: Int64, nanos: Int32)? {
    var scanner = DigitScanner(text)
    let isNegative = scanner.take("-")
    guard let seconds = scanner.number(), seconds <= Int(limit), let nanos = scanner.fraction(), scanner.take("s"),
      scanner.isAtEnd
    else { return nil }
    return isNegative ? (-Int64(seconds), -nanos) : (Int64(seconds), nanos)
  }
}

/// Reads ASCII digits and single characters.
struct DigitScanner {
  private var rest: Substring.UTF8View

  init(_ text: String) { rest = text[...].utf8 }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest = rest.dropFirst()
    return true
  }

  /// A number of exactly so many digits, or of one to twelve.
  mutating func number(_ width: Int? = nil) -> Int? {
    var value = 0
    var digits = 0
    while let byte = rest.first, (48...57).contains(byte), digits < width ?? 12 {
      value = value * 10 + Int(byte - 48)
      digits += 1
      rest = rest.dropFirst()
    }
    return digits > 0 && digits == width ?? digits ? value : nil
  }

  /// A fraction of a second in nanoseconds: 0 if there is none, nil if it is empty or longer than nine digits.
  mutating func fraction() -> Int32? {
    guard take(".") else { return 0 }
    var value: Int32 = 0
    var digits = 0
    while let byte = rest.first, (48...57).contains(byte) {
      guard digits < 9 else { return nil }
      value = value * 10 + Int32(byte - 48)
      digits += 1
      rest = rest.dropFirst()
    }
    guard digits > 0 else { return nil }
    for _ in digits..<9 { value *= 10 }
    return value
  }
}

/// Days and dates of the proleptic Gregorian calendar.
enum CivilDate {
  static func days(inMonth month: Int, year: Int) -> Int {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// Counts from 1 March, so that the leap day comes last, in eras of 400 years.
  static func daysSinceEpoch(year: Int, month: Int, day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  static func date(daysSinceEpoch days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }
}

/// Paths of field masks: `snake_case` in messages, `lowerCamel` in JSON, only where that can be undone.
enum JSONFieldPath {
  static func json(_ path: String) -> String? {
    var result = ""
    var isAfterUnderscore = false
    for character in path.unicodeScalars {
      if isAfterUnderscore {
        guard ("a"..."z").contains(character) else { return nil }
        result += String(character).uppercased()
        isAfterUnderscore = false
      } else if character == "_" {
        isAfterUnderscore = true
      } else {
        guard !("A"..."Z").contains(character) else { return nil }
        result.unicodeScalars.append(character)
      }
    }
    return isAfterUnderscore ? nil : result
  }

  static func proto(_ path: some StringProtocol) -> String? {
    var result = ""
    for character in path.unicodeScalars {
      guard character != "_" else { return nil }
      if ("A"..."Z").contains(character) {
        result += "_" + String(character).lowercased()
      } else {
        result.unicodeScalars.append(character)
      }
    }
    return result
  }
}
