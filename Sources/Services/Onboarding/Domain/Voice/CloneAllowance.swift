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
}
