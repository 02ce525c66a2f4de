public import RPC

extension [MethodAccess: AccessGuard] {
  /// The guards of a service whose callers have sessions: SESSION, and SUBSCRIBED where somebody knows who has paid.
  ///
  /// ADMIN and SERVICE are guarded by client certificates in every service, without a word.
  public static func sessions(
    _ authenticator: SessionAuthenticator, entitlements: (any EntitlementChecking)? = nil
  ) -> [MethodAccess: AccessGuard] {
    var guards: [MethodAccess: AccessGuard] = [.session: .authenticator(authenticator)]
    if let entitlements {
      guards[.subscribed] = .authenticator(SubscriptionAuthenticator(authenticator, entitlements))
    }
    return guards
  }
}
