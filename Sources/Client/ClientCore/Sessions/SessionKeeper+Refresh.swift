import Foundation
import ParleyAPI
public import RPC

extension SessionKeeper {
  /// How long a token serves without another try when it could not be replaced.
  private static let rest = Duration.seconds(5)
  /// How often a refresh that another one was faster than is repeated, and how long it waits at most before that.
  private static let races = (count: 5, longestWait: Duration.seconds(15))

  /// An access token that is good for now: the one at hand, or a new one when it is about to run out.
  ///
  /// While the server cannot be asked, a token serves to its end.
  ///
  /// - Throws: ``RPC/RPCError``: UNAUTHENTICATED with `NOT_SIGNED_IN`, or with the reason for which the session has just ended;
  ///   whatever else keeps it from being refreshed, with the session as it was.
  public func accessToken() async throws(RPCError) -> String {
    guard let session = try await current() else { throw Self.notSignedIn }
    guard options.clock.now() >= max(session.refreshAt, restUntil) else { return session.accessToken }
    do {
      return try await refreshed(session.accessToken)
    } catch {
      let isOver = error.code == .unauthenticated || error.code == .cancelled || self.session == nil
      guard !isOver, options.clock.now() < session.accessExpiresAt else { throw error }
      // The next calls do not wait for a server that does not answer.
      restUntil = min(options.clock.now().advanced(by: Self.rest), session.accessExpiresAt)
      return session.accessToken
    }
  }

  /// An access token other than `refused`, which a service did not accept any more.
  ///
  /// - Throws: As ``accessToken()``.
  public func accessToken(insteadOf refused: String) async throws(RPCError) -> String {
    guard let session = try await current() else { throw Self.notSignedIn }
    if session.accessToken != refused { return try await accessToken() }
    return try await refreshed(refused)
  }

  private func refreshed(_ old: String) async throws(RPCError) -> String {
    let flight = refreshing ?? Flight<String>()
    if refreshing == nil {
      refreshing = flight
      // Of its own: what a caller that gives up has begun must come to its end, or the answer would be lost.
      Task {
        let outcome: Result<String, any Error>
        do { outcome = .success(try await refresh(old)) } catch { outcome = .failure(error) }
        refreshing = nil
        flight.finish(outcome)
      }
    }
    do { return try await flight.value() } catch let error as RPCError { throw error } catch {
      throw RPCError(.cancelled, "the call was cancelled", cause: error)
    }
  }

  /// Exchanges the refresh token in the store, unless another process has done so.
  private func refresh(_ old: String) async throws(RPCError) -> String {
    var (unanswered, raced) = (0, 0)
    while true {
      let (now, attempt) = (options.clock.now(), UUID().uuidString.lowercased())
      let stored = try await shelf.update { stored in
        guard var stored, stored.accessToken == old || now >= stored.refreshAt else { return stored }
        stored.attempt = stored.attempt ?? attempt
        return stored
      }
      session = stored
      guard let stored else { throw Self.notSignedIn }
      if stored.accessToken != old, now < stored.refreshAt { return stored.accessToken }
      do {
        options.log("Session", "refreshing")
        let request = RefreshSessionRequest(refreshToken: stored.refreshToken, attempt: stored.attempt ?? "")
        // The same attempt gets the same answer, from whichever copy.
        let response = try await hedged(isIdempotent: true) { [auth, calling = callOptions()] () async throws(RPCError) in
          try await auth.refreshSession(request, options: calling)
        }
        return try await adopt(response.tokens, in: stored, begun: now)
      } catch {
        if let cause = SignedOut.Cause(error, ofRefresh: true) {
          let rest = try await shelf.update { $0?.refreshToken == stored.refreshToken ? nil : $0 }
          session = rest
          guard rest == nil else { continue }
          await end(SignedOut(cause: cause, sessionID: stored.sessionID, isKnownToServer: true))
          throw error
        }
        if error.reason == "REFRESH_RACED" {
          raced += 1
          guard raced <= Self.races.count else { throw error }
          if try await shelf.load()?.refreshToken == stored.refreshToken {
            try await pause(min(error.retryAfter ?? .seconds(1), Self.races.longestWait), else: error)
          }
        } else if error.code == .unavailable {
          unanswered += 1
          guard unanswered < options.attempts else { throw error }
          try await pause(error.retryAfter ?? .milliseconds(200 << unanswered), else: error)
        } else {
          throw error
        }
      }
    }
  }

  /// Puts the next tokens in the place of the former ones.
  ///
  /// A store that fails costs nothing at once: what it still holds is answered by the server with the same tokens again.
  private func adopt(_ tokens: SessionTokens?, in former: StoredSession, begun: Date) async throws(RPCError) -> String {
    guard let tokens, !tokens.accessToken.isEmpty, !tokens.refreshToken.isEmpty else {
      throw RPCError(.internal, "the server refreshed the session without tokens")
    }
    let next = StoredSession(tokens, userID: former.userID, begun: begun, margin: margin())
    do {
      session = try await shelf.update { $0?.refreshToken == former.refreshToken ? next : $0 }
    } catch {
      options.log("Session", "the store failed; the tokens are in memory alone")
      session = next
    }
    guard let session else { throw Self.notSignedIn }
    options.log("Session", "refreshed (expires in \(Int(session.accessExpiresAt.timeIntervalSince(begun)))s)")
    return session.accessToken
  }

  private func pause(_ duration: Duration, else reason: RPCError) async throws(RPCError) {
    do { try await options.clock.sleep(for: duration + options.jitter * Double.random(in: 0...0.02)) } catch { throw reason }
  }
}
