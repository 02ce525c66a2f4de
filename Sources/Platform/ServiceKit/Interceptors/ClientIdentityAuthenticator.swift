public import RPC

/// Lets in the clients whose certificates name one of some identities: the guard of methods of SERVICE and of ADMIN
/// access, each with identities of its own, unless a service gives another one.
///
/// An operator may call all methods of ADMIN access. Another service may call those of the RPC services that it is named for, and no
/// other: a certificate is not worth more than the work that it was made for.
public struct ClientIdentityAuthenticator: Authenticator {
  private enum Rule: Sendable {
    case everywhere(Set<String>)
    /// By the RPC service's name without its package.
    case byService([String: Set<String>])
  }

  private let rule: Rule

  /// Lets in the clients with these identities, and nobody when there is none.
  public init(_ allowed: [ClientIdentity]) { rule = .everywhere(Set(allowed.map(\.configurationText))) }

  /// Lets in each caller to the RPC service that it is named for.
  public init(_ callers: [ServiceCaller]) {
    rule = .byService(
      callers.reduce(into: [:]) { $0[$1.service, default: []].insert($1.identity.configurationText) })
  }

  /// Refuses who has proved no identity, or another one.
  public func authenticate(_ call: any ServerCall) async throws {
    guard let identity = call.peer.identity else {
      throw refusal(.unauthenticated, "a client certificate that names an identity is needed", "CLIENT_IDENTITY_REQUIRED")
    }
    guard identity.isAny(of: allowed(call.method)) else {
      throw refusal(.permissionDenied, "this client may not call the method", "CLIENT_IDENTITY_REFUSED")
    }
  }

  private func allowed(_ method: MethodInfo) -> Set<String> {
    switch rule {
    case .everywhere(let identities): identities
    case .byService(let callers): callers[ServiceCaller.shortName(method.service)] ?? []
    }
  }

  private func refusal(_ code: StatusCode, _ message: String, _ reason: String) -> RPCError {
    RPCError(code, message, details: [.errorInfo(reason: reason, domain: ErrorMap.domain, metadata: [:])])
  }
}
