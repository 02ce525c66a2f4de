public import RPC

/// Lets in the clients whose certificates name one of some identities: the guard of methods of SERVICE and of ADMIN
/// access, each with identities of its own, unless a service gives another one.
public struct ClientIdentityAuthenticator: Authenticator {
  private let allowed: Set<String>

  /// Lets in the clients with these identities, and nobody when there is none.
  public init(_ allowed: [ClientIdentity]) { self.allowed = Set(allowed.map(\.configurationText)) }

  /// Refuses who has proved no identity, or another one.
  public func authenticate(_ call: any ServerCall) async throws {
    guard let identity = call.peer.identity else {
      throw refusal(.unauthenticated, "a client certificate that names an identity is needed", "CLIENT_IDENTITY_REQUIRED")
    }
    guard identity.isAny(of: allowed) else {
      throw refusal(.permissionDenied, "this client may not call the method", "CLIENT_IDENTITY_REFUSED")
    }
  }

  private func refusal(_ code: StatusCode, _ message: String, _ reason: String) -> RPCError {
    RPCError(code, message, details: [.errorInfo(reason: reason, domain: ErrorMap.domain, metadata: [:])])
  }
}
