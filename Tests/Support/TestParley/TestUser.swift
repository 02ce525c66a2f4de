public import AuthDomain
public import RPC

/// Somebody who is signed in.
public struct TestUser: Sendable {
  /// The account.
  public let userID: UserID
  /// The session.
  public let sessionID: SessionID
  /// The access token.
  public let accessToken: String

  /// What their calls carry.
  public var options: CallOptions {
    CallOptions(metadata: ["authorization": "Bearer \(accessToken)"], deadline: .after(.seconds(30)))
  }
}
