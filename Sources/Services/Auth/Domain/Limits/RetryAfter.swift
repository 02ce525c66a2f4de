public import Values

/// How long a refused caller is told to wait.
public enum RetryAfter {
  /// Whole seconds until `moment`, rounded up and at least 1.
  public static func seconds(until moment: Instant, from now: Instant) -> Int64 {
    let left = moment.duration(since: now).components
    return max(1, left.attoseconds > 0 ? left.seconds + 1 : left.seconds)
  }
}
