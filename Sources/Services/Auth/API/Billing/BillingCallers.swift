public import AuthDomain
public import RPC
public import RPCServer

/// Who calls billing's methods and routes; whoever keeps sessions implements it.
public protocol BillingCallers: Sendable {
  /// The account of a call of SESSION access, which has been judged before.
  func user(of call: CallContext) throws(RPCError) -> UserID

  /// The account of a plain HTTP request, judged by its bearer token.
  ///
  /// - Throws: ``RPC/RPCError`` with `unauthenticated`, or `unavailable` when nothing could be judged.
  func user(of request: HTTPServerRequest) async throws(RPCError) -> UserID
}
