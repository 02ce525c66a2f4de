internal import AuthDomain
internal import EventLoop
internal import GoogleProvider
internal import OpenID
internal import Values

/// Google's access tokens as the broker's. What is left of them is measured on the monotonic clock and told on the wall clock.
struct GoogleAccessTokens: AccessTokenMinting {
  /// The tokens of the broker's own account, for callers that name no capability.
  let own: any CloudTokenSource
  /// Those of the accounts that are impersonated, by the capability's name.
  let impersonated: [String: any CloudTokenSource]
  let monotonic: @Sendable () -> MonotonicInstant
  let now: @Sendable () -> Instant

  func mint(_ capability: Capability) async throws(PortFailure) -> AccessToken {
    // A capability never falls back to the broker's own account, which may do more.
    guard let source = source(of: capability) else {
      throw PortFailure(.unavailable, reason: "no account for the capability")
    }
    let token: CloudToken
    do { token = try await source.mint(scope: capability.scope) } catch {
      throw error.code == .cancelled ? .cancelled : PortFailure(.unavailable, reason: error.description)
    }
    return AccessToken(value: token.value, expiresAt: token.timeLeft(at: monotonic()).map { now().advanced(by: $0) })
  }

  func isAtHand(_ capability: Capability) -> Bool { source(of: capability)?.isAtHand(scope: capability.scope) ?? false }

  private func source(of capability: Capability) -> (any CloudTokenSource)? {
    capability.account == nil ? own : impersonated[capability.name]
  }
}
