/// How long to wait before RevenueCat is asked again for a customer that it could not be asked for.
public enum RereadBackoff {
  /// The longest wait.
  public static let longest = Duration.seconds(3600)

  /// 5 s, doubled with each failed attempt up to an hour, of which the last half is left to chance, so that what failed together
  /// does not come back together.
  ///
  /// - Parameters:
  ///   - attempts: How many have failed, from 1.
  ///   - chance: In 0..<1.
  public static func delay(after attempts: Int, chance: Double) -> Duration {
    let whole = min(longest, .seconds(5) * (1 << min(max(attempts, 1) - 1, 12)))
    return whole * (0.5 + 0.5 * chance)
  }
}
