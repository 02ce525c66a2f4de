/// When what failed is tried again by itself: after 1, 5 and 30 minutes, 2 and 12 hours (4.11); then it is left to operators.
public enum RetryPlan {
  /// What becomes of a submission whose job is gone and whose work has not ended: a defect, or a job that was purged.
  public enum Renewal: Sendable, Hashable {
    /// It rests for a while.
    case notYet
    /// It gets a job again.
    case again
    /// It is given up.
    case givingUp
  }

  /// The longest pause that a provider may name for a job to come back within the same round: three of them are a minute, in which the
  /// person's answers are not to be changed. Whatever wants a longer one is left to the next round, and what follows goes on.
  public static let longestWait = Duration.seconds(20)
  /// The longest pause that a provider may name before the next round.
  public static let longestRest = Duration.seconds(86_400)

  /// The pauses before each round.
  public static let pauses: [Duration] = [.seconds(60), .seconds(300), .seconds(1_800), .seconds(7_200), .seconds(43_200)]

  /// The pause before a round, counted from 1; nil when there is none any more.
  public static func pause(before round: Int) -> Duration? { pauses.indices.contains(round - 1) ? pauses[round - 1] : nil }

  /// How often such a submission gets a job again.
  public static let renewals = 5

  /// What becomes of such a submission: it gets a job at once, then after 1, 5 and 30 minutes and 2 hours; then it is given up.
  ///
  /// - Parameters:
  ///   - count: How often it got one before.
  ///   - passed: The time since it last did; nil where it never did.
  public static func renewal(after count: Int, _ passed: Duration?) -> Renewal {
    guard count < renewals else { return .givingUp }
    guard let pause = pause(before: count), let passed else { return .again }
    return passed < pause ? .notYet : .again
  }
}
