/// The broker's work on one request, step by step. Every step may refuse the request, and then no later one is taken.
public enum BrokerStep: Sendable, Hashable, CaseIterable {
  /// Take a token from the bucket of the client's address. Before anything costs anything.
  case limitAddress
  /// Find the bearer token.
  case readAuthorization
  /// Verify it.
  case verifyToken
  /// Compare its hosted domain with the one that the service is for.
  case gateDomain
  /// Require a subject.
  case requireSubject
  /// Take a token from the person's bucket; together with the record where nothing that is outside of this process comes between.
  case limitUser
  /// Find what is asked for.
  case chooseCapability
  /// Turn away who asks for what an operator has stopped, and whom an operator has stopped.
  case checkStop
  /// Turn away who is known to have had enough for the day.
  case checkCap
  /// Get the cloud token.
  case mint
  /// Write down that it is handed out, if it still may be; only then is it.
  case record
}

/// What a caller wants of the broker.
public enum BrokerOperation: String, Sendable, Hashable, CaseIterable {
  /// A cloud token.
  case exchange
  /// To know what its ID token says.
  case whoAmI = "whoami"

  /// The steps, in their order.
  ///
  /// - Parameter gatesWhoAmI: Whether asking who one is, too, is for members of the domain only.
  public func steps(gatesWhoAmI: Bool = false) -> [BrokerStep] {
    switch self {
    case .exchange:
      [
        .limitAddress, .readAuthorization, .verifyToken, .gateDomain, .requireSubject, .limitUser, .chooseCapability, .checkStop,
        .checkCap,
        .mint, .record,
      ]
    case .whoAmI:
      [.limitAddress, .readAuthorization, .verifyToken] + (gatesWhoAmI ? [.gateDomain] : []) + [.requireSubject, .limitUser]
    }
  }
}
