public import ParleyAPI
public import RPC

extension SessionKeeper {
  /// Shows a provider's token once more, as the service asks for (`STEP_UP_REQUIRED`) before an export and before the account is deleted.
  ///
  /// The access token that comes of it takes the place of the one before, so the call that was refused can be made again.
  ///
  /// - Parameters:
  ///   - provider: Whose token it is.
  ///   - idToken: A token that was just made, of the identity that the account signs in with, and that carries the nonce.
  ///   - nonce: The nonce of ``beginSignIn(with:)``.
  /// - Throws: ``RPC/RPCError``: PERMISSION_DENIED with `IDENTITY_MISMATCH` for somebody else's token; the session goes on as it was.
  public func stepUp(with provider: IdentityProvider, idToken: String, nonce: String) async throws(RPCError) {
    let request = ReauthenticateRequest(provider: provider, idToken: idToken, nonce: nonce)
    let begun = options.clock.now()
    let response = try await reauthenticated(request, try await accessToken())
    guard let held = session, !response.accessToken.isEmpty else { throw Self.notSignedIn }
    let tokens = SessionTokens(
      accessToken: response.accessToken, tokenType: response.tokenType, expiresIn: response.expiresIn,
      refreshToken: held.refreshToken, sessionID: held.sessionID)
    let next = StoredSession(tokens, userID: held.userID, begun: begun, margin: margin())
    // Somebody else may have refreshed meanwhile: the refresh token and its attempt are theirs to change.
    session = try await shelf.update { stored in
      guard var stored, stored.sessionID == next.sessionID else { return stored }
      (stored.accessToken, stored.accessExpiresAt, stored.refreshAt) = (next.accessToken, next.accessExpiresAt, next.refreshAt)
      return stored
    }
    options.log("Session", "stepped up")
  }

  /// A call that is refused because its token has run out is repeated once with a new one: nothing was used up by it.
  private func reauthenticated(
    _ request: ReauthenticateRequest, _ token: String
  ) async throws(RPCError) -> ReauthenticateResponse {
    let account = AccountService.Client(auth.channel)
    do { return try await account.reauthenticate(request, options: callOptions(bearer: token)) } catch {
      guard let next = await answer(to: error, token: token) else { throw error }
      return try await account.reauthenticate(request, options: callOptions(bearer: next))
    }
  }
}
