/// What becomes of a token that is about to be handed out.
public enum IssuanceDecision: Sendable, Hashable {
  /// It is on record as handed out.
  case issued
  /// An operator has stopped its capability.
  case stopped
  /// The person has had enough of them today.
  case capReached
}
