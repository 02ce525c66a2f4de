public import AuthDomain
public import ParleyAPI
public import RPC

/// Somebody who is signed in.
public struct TestUser: Sendable {
  /// What the test calls them.
  public let name: String
  /// The account.
  public let userID: UserID
  /// The session.
  public let sessionID: SessionID
  /// What the device holds, the refresh token among it.
  public let tokens: SessionTokens

  /// The access token.
  public var accessToken: String { tokens.accessToken }

  /// What their calls carry.
  public var options: CallOptions {
    CallOptions(metadata: ["authorization": "Bearer \(accessToken)"], deadline: .after(.seconds(30)))
  }
}
