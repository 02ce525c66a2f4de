internal import AppleProvider
internal import AuthDomain
internal import EventLoop
internal import GoogleProvider
internal import OpenID
internal import ServiceKit

/// Google and Apple as the service uses them: their keys, fetched once for all who verify, and a verifier for each app.
struct IdentityProviders: Sendable {
  /// The apps that people sign in to.
  let apps: AppCatalogue
  /// Google's keys, the broker's as well.
  let googleKeys: JWKSCache
  /// Apple's token endpoints; nil where no credential is set.
  let appleTokens: AppleTokenClient?
  /// What Apple posts about accounts, for all apps.
  let appleNotifications: AppleNotificationVerifier
  /// What tells the time to providers.
  let clock: ProviderClock
  private let verifiers: [String: [IdentityProvider: any IdentityVerifying]]

  init(_ context: ServiceContext) throws {
    let (settings, loops, clock) = (context.settings, context.loops.loops, context.providerClock)
    let apps = try AppKeys.catalogue(settings)
    let (googleKeys, appleKeys) = (Self.googleKeys(context, clock), Self.appleKeys(context, clock))
    let issuers = settings[AppleKeys.issuers]
    let skew = Duration.seconds(settings[BrokerKeys.clockSkewSeconds])
    verifiers = Dictionary(
      uniqueKeysWithValues: apps.all.map { app in
        var offered: [IdentityProvider: any IdentityVerifying] = [:]
        if app.offers(.google) {
          let policy = GoogleIDTokenPolicy(
            issuer: settings[BrokerKeys.issuer], audiences: app.google.audiences, clockSkew: skew,
            maximumAge: settings[AppleKeys.maximumTokenAge], requiresSubject: true, rememberedTokensPerLoop: 256)
          offered[.google] = GoogleSignIn(
            verifier: GoogleIDTokenVerifier(policy, keys: googleKeys, loops: loops, clock: clock))
        }
        if app.offers(.apple) {
          let policy = AppleIdentityTokenPolicy(
            issuers: issuers, audiences: app.apple.audiences, clockSkew: skew,
            maximumAge: settings[AppleKeys.maximumTokenAge])
          offered[.apple] = AppleSignIn(
            verifier: AppleIdentityTokenVerifier(policy, keys: appleKeys, loops: loops, clock: clock))
        }
        return (app.name, offered)
      })
    // A notification may come late, for as long as it is valid.
    let everyApp = AppleIdentityTokenPolicy(
      issuers: issuers, audiences: apps.all.flatMap(\.apple.audiences), clockSkew: skew, maximumAge: nil)
    appleNotifications = AppleNotificationVerifier(everyApp, keys: appleKeys, loops: loops, clock: clock)
    appleTokens = try AppleKeys.credential(settings).map { credential in
      var endpoints = AppleTokenClient.Endpoints()
      (endpoints.token, endpoints.revoke) = (settings[AppleKeys.tokenURL], settings[AppleKeys.revokeURL])
      endpoints.audience = issuers[0]
      return AppleTokenClient(
        credential, endpoints: endpoints, timeout: settings[AppleKeys.timeout], over: context.outbound, clock: clock,
        log: context.log)
    }
    (self.apps, self.googleKeys, self.clock) = (apps, googleKeys, clock)
  }

  /// Who judges the tokens of a provider for an app; nil when nobody signs in to it this way.
  func verifier(_ provider: IdentityProvider, for app: App) -> (any IdentityVerifying)? { verifiers[app.name]?[provider] }

  // MARK: Keys

  private static func policy(_ settings: Settings) -> KeyPolicy {
    var policy = KeyPolicy()
    policy.cooldown = settings[BrokerKeys.keyCooldown]
    policy.maximumAge = settings[BrokerKeys.keyMaximumAge]
    policy.timeout = settings[BrokerKeys.keyTimeout]
    return policy
  }

  private static func googleKeys(_ context: ServiceContext, _ clock: ProviderClock) -> JWKSCache {
    let settings = context.settings
    let source: KeySource =
      if let url = settings[BrokerKeys.keySetURL] { .keySet(url: url) } else if let url = settings[BrokerKeys.discoveryURL] {
        .discovery(url: url, issuer: settings[BrokerKeys.issuer])
      } else { .google }
    return JWKSCache(
      source, policy: policy(settings), over: context.outbound, on: context.loops.loops[0], clock: clock, log: context.log,
      named: "google", metrics: context.metrics)
  }

  private static func appleKeys(_ context: ServiceContext, _ clock: ProviderClock) -> JWKSCache {
    JWKSCache(
      context.settings[AppleKeys.keySetURL].map { .keySet(url: $0) } ?? .apple, policy: policy(context.settings),
      over: context.outbound, on: context.loops.loops[0], clock: clock, log: context.log, named: "apple",
      metrics: context.metrics)
  }
}
