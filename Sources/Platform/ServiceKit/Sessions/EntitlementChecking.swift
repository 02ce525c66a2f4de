public import RPC

/// Whether a person has paid, as a service needs to know it; whoever knows implements it.
public protocol EntitlementChecking: Sendable {
  /// Whether the caller has a running subscription now.
  ///
  /// - Throws: Anything when nobody can say: nobody is let in then.
  func isEntitled(_ caller: Caller) async throws -> Bool
}

/// The guard of methods of SUBSCRIBED access: a session, and a running subscription.
public struct SubscriptionAuthenticator: Authenticator {
  private let sessions: SessionAuthenticator
  private let entitlements: any EntitlementChecking

  /// Lets in who passes `sessions` and has what `entitlements` knows of.
  public init(_ sessions: SessionAuthenticator, _ entitlements: any EntitlementChecking) {
    self.sessions = sessions
    self.entitlements = entitlements
  }

  /// Refuses who has no session (UNAUTHENTICATED) or no subscription (FAILED_PRECONDITION `SUBSCRIPTION_REQUIRED`, with the hints
  /// that lead to the paywall); UNAVAILABLE when nobody can say.
  public func authenticate(_ call: any ServerCall) async throws {
    if try !sessions.admitAtOnce(call) { try await sessions.authenticate(call) }
    guard let caller = call[Caller.Key.self] else { throw SessionRefusal.missingAuthorization.rpcError }
    try await admit(caller)
  }

  /// Judges a request that is no RPC, by its access token.
  ///
  /// - Parameter authorization: The request's one field of that name; nil where there is none, or more than one.
  /// - Returns: Who calls, and has paid.
  /// - Throws: ``RPC/RPCError`` as ``authenticate(_:)``. Thrown on by the route, it is answered with 402 and the hints that lead to
  ///   the paywall where there is no subscription.
  public func caller(presenting authorization: String?) async throws(RPCError) -> Caller {
    let caller = try await sessions.caller(presenting: authorization)
    try await admit(caller)
    return caller
  }

  private func admit(_ caller: Caller) async throws(RPCError) {
    let isEntitled: Bool
    do { isEntitled = try await entitlements.isEntitled(caller) } catch is CancellationError {
      throw RPCError(.cancelled, "the call was cancelled")
    } catch {
      throw SessionRefusal.entitlementUnavailable.rpcError(cause: error)
    }
    guard isEntitled else { throw SessionRefusal.subscriptionRequired.rpcError }
  }
}
