/// When what failed is tried again by itself: after 1, 5 and 30 minutes, 2 and 12 hours (4.11); then it is left to operators.
public enum RetryPlan {
  /// The pauses before each round.
  public static let pauses: [Duration] = [.seconds(60), .seconds(300), .seconds(1_800), .seconds(7_200), .seconds(43_200)]

  /// The pause before a round, counted from 1; nil when there is none any more.
  public static func pause(before round: Int) -> Duration? { pauses.indices.contains(round - 1) ? pauses[round - 1] : nil }
}
