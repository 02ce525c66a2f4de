/// How often a voice may be made anew: once a calendar month in UTC, the first voice not counted (C-58).
public enum CloneAllowance {
  /// Whether it may.
  ///
  /// - Parameters:
  ///   - last: When the person last had it made anew, as RFC 3339 in UTC; nil for never.
  ///   - now: The time, in the same form.
  public static func isOpen(last: String?, now: String) -> Bool {
    // The year and the month come first: `2026-11`.
    last.map { $0.prefix(7) < now.prefix(7) } ?? true
  }

  /// From when on it may again: the first moment of the month that follows, in the same form.
  ///
  /// - Parameter last: When the person last had it made anew, as RFC 3339 in UTC.
  /// - Returns: The moment; nil where `last` is no time.
  public static func opening(after last: String) -> String? {
    let parts = last.prefix(7).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let year = Int(parts[0]), let month = Int(parts[1]), (1...12).contains(month) else { return nil }
    let next = (year: month == 12 ? year + 1 : year, month: month == 12 ? 1 : month + 1)
    return "\(next.year)-\(next.month < 10 ? "0" : "")\(next.month)-01T00:00:00Z"
  }
}
