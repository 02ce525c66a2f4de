/// Something that did not go well and did not stop the rest.
public struct SubmissionWarning: Sendable, Hashable {
  /// The step; 0 where it is none's.
  public var step: Int
  /// Why, in a word.
  public var reason: String
  /// The same in a sentence; nothing of what was said.
  public var message: String

  /// A warning.
  public init(step: Int = 0, _ reason: String, _ message: String) {
    self.step = step
    self.reason = reason
    self.message = message
  }
}
