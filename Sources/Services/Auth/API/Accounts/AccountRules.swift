internal import AuthDomain

/// How sign-in and sessions are set up.
struct AccountRules: Sendable {
  /// The most leeway that any verifier of tokens grants.
  static let mostLeeway = Duration.seconds(300)
  /// How long an access token lives.
  static let accessLifetime = Duration.seconds(300)
  /// How long a nonce serves.
  static let nonceLifetime = Duration.seconds(600)

  /// Sign-ins and nonces, per client address.
  var signInLimit = RateLimit(perMinute: 60, burst: 40)
  /// Refreshes, per client address: behind one address there may be a whole network of people.
  var refreshAddressLimit = RateLimit(perMinute: 600, burst: 300)
  /// Refreshes, per session.
  var refreshLimit = RateLimit(perMinute: 30, burst: 30)
  /// How long sessions last.
  var refresh = RefreshRules()

  /// For how long after the end of a session its access tokens may be around, and be believed.
  static var tokensOutlive: Duration { accessLifetime + mostLeeway }
}
