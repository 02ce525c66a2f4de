public import RPC
public import Values

/// The person on whose behalf a call is made, by the access token that came with it. A copy is one reference.
public struct Caller: Sendable, Hashable {
  private final class Facts: Sendable {
    let userID: UUID
    let sessionID: UUID
    let app: String
    let authenticatedAt: Int64

    init(_ userID: UUID, _ sessionID: UUID, _ app: String, _ authenticatedAt: Int64) {
      self.userID = userID
      self.sessionID = sessionID
      self.app = app
      self.authenticatedAt = authenticatedAt
    }
  }

  private let facts: Facts

  /// The account.
  public var userID: UUID { facts.userID }
  /// The session: one device that stays signed in.
  public var sessionID: UUID { facts.sessionID }
  /// The app that the account belongs to.
  public var app: String { facts.app }
  /// When the person last showed a provider's token, in seconds since 1970: what a step-up asks for.
  public var authenticatedAt: Int64 { facts.authenticatedAt }

  /// A caller whose token was verified.
  public init(userID: UUID, sessionID: UUID, app: String, authenticatedAt: Int64) {
    facts = Facts(userID, sessionID, app, authenticatedAt)
  }

  /// Whether both are the same person in the same session.
  public static func == (left: Caller, right: Caller) -> Bool {
    left.facts === right.facts
      || (left.userID == right.userID && left.sessionID == right.sessionID && left.app == right.app
        && left.authenticatedAt == right.authenticatedAt)
  }

  /// Feeds what ``==(_:_:)`` looks at first.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(userID)
    hasher.combine(sessionID)
  }

  /// Checks that an account named in a request is the caller's own.
  ///
  /// - Parameter userID: A UUID's text, in either case. Empty means the caller's own: most requests name nobody.
  /// - Throws: ``RPC/RPCError`` with `permissionDenied` and the reason `NOT_YOUR_OWN`, whether there is such an account or not.
  public func mustOwn(_ userID: String) throws(RPCError) {
    guard userID.isEmpty || UUID(userID) == self.userID else { throw SessionRefusal.notYourOwn.rpcError }
  }

  /// Checks that what belongs to an account belongs to the caller.
  ///
  /// - Throws: ``RPC/RPCError`` with `permissionDenied` and the reason `NOT_YOUR_OWN`.
  public func mustOwn(_ owner: UUID) throws(RPCError) {
    guard owner == userID else { throw SessionRefusal.notYourOwn.rpcError }
  }

  enum Key: CallValueKey { typealias Value = Caller }
}

extension CallContext {
  /// Who calls, in a method of SESSION or SUBSCRIBED access.
  ///
  /// - Throws: ``RPC/RPCError`` with `unauthenticated` in a method of any other access, where nobody was asked.
  public var caller: Caller {
    get throws(RPCError) {
      guard let caller = self[Caller.Key.self] else { throw SessionRefusal.missingAuthorization.rpcError }
      return caller
    }
  }
}
