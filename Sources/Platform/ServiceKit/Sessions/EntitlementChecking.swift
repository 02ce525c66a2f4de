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
    guard let caller = call.values[Caller.Key.self] else { throw SessionRefusal.missingAuthorization.rpcError }
    let isEntitled: Bool
    do { isEntitled = try await entitlements.isEntitled(caller) } catch is CancellationError {
      throw RPCError(.cancelled, "the call was cancelled")
    } catch {
      throw SessionRefusal.entitlementUnavailable.rpcError(cause: error)
    }
    guard isEntitled else { throw SessionRefusal.subscriptionRequired.rpcError }
  }
}
