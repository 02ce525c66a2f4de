public import RPC

/// How long a call may wait for something that goes on without it.
///
/// Whatever is waited for, the wait ends before the caller's deadline, so that it is answered with what there is: a caller who is told
/// DEADLINE_EXCEEDED cannot know what is durable by then.
public enum CallWait {
  /// What is left for the answer, where the caller gives that much.
  public static let answer = Duration.seconds(1)

  /// The time that a wait may take: at most `longest`, and less where the deadline comes before.
  ///
  /// - Parameters:
  ///   - longest: What it may take whenever the caller stops waiting.
  ///   - rest: What is left for the work behind it, and for the answer; half of the time where that is less.
  ///   - deadline: When the caller stops waiting; nil: never.
  public static func time(
    atMost longest: Duration, leaving rest: Duration = answer, until deadline: Deadline? = CallContext.current?.deadline
  ) -> Duration {
    guard let left = deadline?.timeLeft else { return longest }
    return min(longest, left - min(rest, left / 2))
  }
}
