public import RPC

/// Establishes who calls, and refuses whoever may not.
public protocol Authenticator: Sendable {
  /// Judges the caller's credentials and attaches what was found to the call's values.
  ///
  /// - Throws: ``RPC/RPCError`` with `unauthenticated`, `permissionDenied`, or `unavailable` when nothing could be judged.
  func authenticate(_ call: any ServerCall) async throws

  /// Admits a call that can be judged without waiting, which costs much less than ``authenticate(_:)``; that is asked otherwise.
  ///
  /// - Returns: Whether the call was admitted.
  func admitAtOnce(_ call: any ServerCall) throws -> Bool
}

extension Authenticator {
  /// None.
  public func admitAtOnce(_ call: any ServerCall) throws -> Bool { false }
}

/// How methods of one kind of access are guarded.
public enum AccessGuard: Sendable {
  /// Before the handler runs.
  case authenticator(any Authenticator)
  /// By the handlers themselves, because something must come before (a limit by address, say).
  case handlers
}

/// The access option of every method, enforced: a method runs only behind the guard for its kind of access.
///
/// Made when a service starts, so that a service which forgot a guard does not start.
public struct AccessPolicy: ServerInterceptor {
  /// A service has methods that nothing guards.
  public struct Unguarded: Error, CustomStringConvertible {
    /// The paths of the methods, each with its kind of access.
    public let methods: [(path: String, access: MethodAccess)]

    /// What it says.
    public var description: String {
      "no guard is given for " + methods.map { "\($0.path) (\($0.access.name))" }.joined(separator: ", ")
    }
  }

  /// By the place of the access among all: looked at in every call.
  private let guards: [AccessGuard?]
  /// What callers pass whose tokens have to be judged; nil lets all of them to the guards.
  private let gate: AddressGate?

  /// Checks that every method of `services` is public or guarded.
  ///
  /// - Throws: ``Unguarded``.
  public init(for services: [ServiceDescriptor], guards: [MethodAccess: AccessGuard]) throws(Unguarded) {
    try self.init(for: services, guards: guards, gate: nil)
  }

  init(for services: [ServiceDescriptor], guards: [MethodAccess: AccessGuard], gate: AddressGate?) throws(Unguarded) {
    self.gate = gate
    let open = services.flatMap(\.methods).filter { $0.access != .public && guards[$0.access] == nil }
    guard open.isEmpty else { throw Unguarded(methods: open.map { ($0.path, $0.access) }) }
    self.guards = MethodAccess.inOrder.map { guards[$0] }
  }

  /// Callers whose credentials were judged before pass at once, and so does everybody in what is open or guards itself.
  public func admission(for method: MethodInfo) -> (@Sendable (any ServerCall) throws -> Bool)? {
    guard method.access != .public else { return { _ in true } }
    switch guards[method.access.place] {
    case .authenticator(let authenticator): return { try authenticator.admitAtOnce($0) }
    case .handlers: return { _ in true }
    case nil: return nil
    }
  }

  /// Serves the call by way of `next`.
  public func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    let access = call.method.access
    if access != .public {
      switch guards[access.place] {
      case .authenticator(let authenticator):
        if try !authenticator.admitAtOnce(call) {
          if access.showsToken { try gate?.admit(call) }
          try await authenticator.authenticate(call)
        }
      case .handlers: break
      // Only a method that was not there when the policy was made.
      case nil: throw RPCError(.permissionDenied, "the method is not open")
      }
    }
    try await next(call)
  }

  /// The paths of the methods that anyone may call.
  public static func publicMethods(of services: [ServiceDescriptor]) -> [String] {
    services.flatMap(\.methods).filter { $0.access == .public }.map(\.path)
  }
}

extension MethodAccess {
  fileprivate static let inOrder: [MethodAccess] = [
    .public, .device, .googleIDToken, .session, .subscribed, .admin, .service,
  ]

  fileprivate var place: Int {
    switch self {
    case .public: 0
    case .device: 1
    case .googleIDToken: 2
    case .session: 3
    case .subscribed: 4
    case .admin: 5
    case .service: 6
    }
  }

  /// Whether callers show a token, which is work to judge; others are known by their certificates.
  fileprivate var showsToken: Bool { self == .session || self == .subscribed || self == .device }

  /// The name of the proto option's value.
  public var name: String {
    switch self {
    case .public: "PUBLIC"
    case .device: "DEVICE"
    case .googleIDToken: "GOOGLE_ID_TOKEN"
    case .session: "SESSION"
    case .subscribed: "SUBSCRIBED"
    case .admin: "ADMIN"
    case .service: "SERVICE"
    }
  }
}
