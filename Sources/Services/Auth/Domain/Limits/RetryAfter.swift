/// How long a refused caller is told to wait.
public enum RetryAfter {
  /// Whole seconds until `moment`, rounded up and at least 1.
  public static func seconds(until moment: Moment, from now: Moment) -> Int64 {
    let left = moment.duration(since: now).components
    return max(1, left.attoseconds > 0 ? left.seconds + 1 : left.seconds)
  }
}
