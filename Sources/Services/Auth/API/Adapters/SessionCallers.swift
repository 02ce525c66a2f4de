internal import AuthDomain
internal import AuthStore
internal import PostgreSQL
internal import RPC
internal import RPCServer
internal import ServiceKit

/// Billing's callers: those of this service's sessions.
struct SessionCallers: BillingCallers {
  let sessions: SessionAuthenticator

  func user(of call: CallContext) throws(RPCError) -> UserID { UserID(try call.caller) }

  func user(of request: HTTPServerRequest) async throws(RPCError) -> UserID {
    UserID(try await sessions.caller(presenting: request.authorization))
  }
}

/// The guard's question answered by this service itself, which keeps the entitlements.
struct OwnEntitlements: EntitlementChecking {
  let entitlements: Entitlements

  func isEntitled(_ caller: Caller) async throws -> Bool { try await entitlements.isEntitled(UserID(caller)) }
}

extension UserID {
  /// The account of a caller.
  init(_ caller: Caller) { self.init(caller.userID) }
}
