public import Values

/// What becomes of a token that is about to be handed out.
public enum IssuanceDecision: Sendable, Hashable {
  /// It is on record as handed out.
  case issued
  /// An operator has stopped its capability.
  case stopped
  /// An operator has stopped the person, or suspended the account.
  case callerStopped
  /// The person has had enough of them today.
  case capReached
  /// The person calls too often; one more call is let in at this moment. Nothing is on record.
  case limited(until: Instant)
}
