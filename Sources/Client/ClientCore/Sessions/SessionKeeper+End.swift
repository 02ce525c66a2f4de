import ParleyAPI
import RPC

extension SessionKeeper {
  /// Signs out: the provider's sign-out, the server's, then the caches, then the app's beginning.
  ///
  /// It happens to its end also when the calling task is cancelled, once for however many callers. Nobody being signed in, the
  /// steps are taken all the same.
  ///
  /// - Returns: Whether the server knows. Without a network it does not, and the session ends there when it is not refreshed in time.
  @discardableResult
  public func signOut() async -> Bool {
    let flight = signingOut ?? Flight<Bool>()
    if signingOut == nil {
      signingOut = flight
      Task {
        let isKnown = await leave()
        signingOut = nil
        flight.finish(.success(isKnown))
      }
    }
    return (try? await flight.value()) ?? false
  }

  private func leave() async -> Bool {
    let leaving = try? await current()
    await options.steps.signOutOfProvider()
    let isKnown = leaving == nil ? true : await leaveServer()
    _ = try? await shelf.update { $0?.sessionID == leaving?.sessionID ? nil : $0 }
    session = nil
    await options.steps.clearCaches()
    if let leaving {
      options.log("Session", "signed out")
      tell(SignedOut(cause: .signedOut, sessionID: leaving.sessionID, isKnownToServer: isKnown))
    }
    await options.steps.showOnboarding()
    return isKnown
  }

  private func leaveServer() async -> Bool {
    do throws(RPCError) {
      let token = try await accessToken()
      do throws(RPCError) { _ = try await auth.signOut(options: callOptions(bearer: token)) } catch {
        guard Self.isAboutToken(error) else { throw error }
        _ = try await auth.signOut(options: callOptions(bearer: try await accessToken(insteadOf: token)))
      }
      return true
    } catch {
      return SignedOut.Cause(error, ofRefresh: true) != nil
    }
  }

  /// The session has ended by the server's word.
  func end(_ end: SignedOut) async {
    // While the person signs out, the steps are under way already.
    guard signingOut == nil else { return }
    options.log("Session", "ended: \(end.cause)")
    await options.steps.signOutOfProvider()
    await options.steps.clearCaches()
    tell(end)
    await options.steps.showOnboarding()
  }

  /// What to do about a call that was refused.
  ///
  /// - Parameters:
  ///   - error: How it was refused.
  ///   - token: The access token that it was made with.
  /// - Returns: The token to repeat the call with, or nil when repeating does not help. A session that has ended is gone then.
  func answer(to error: RPCError, token: String) async -> String? {
    if let cause = SignedOut.Cause(error, ofRefresh: false) {
      let held = session
      guard let held, held.accessToken == token else { return nil }
      _ = try? await shelf.update { $0?.sessionID == held.sessionID ? nil : $0 }
      // Another call may have been told the same, and been faster.
      guard session?.sessionID == held.sessionID else { return nil }
      session = nil
      await end(SignedOut(cause: cause, sessionID: held.sessionID, isKnownToServer: true))
      return nil
    }
    guard Self.isAboutToken(error) else { return nil }
    return try? await accessToken(insteadOf: token)
  }

  /// Whether another token may help.
  static func isAboutToken(_ error: RPCError) -> Bool {
    error.code == .unauthenticated && (error.reason == "ACCESS_TOKEN_EXPIRED" || error.reason == "INVALID_ACCESS_TOKEN")
  }
}
