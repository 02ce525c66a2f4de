internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import JOSE
internal import Logging
internal import RPCServer
internal import ServiceKit
internal import Telemetry
internal import Values

/// The service's own signing keys, put together: who signs, what is published, and the job that rotates.
struct SigningKeys: Sendable {
  let keyring: SigningKeyring
  let signer: AccessTokenSigner
  /// What secrets are sealed with in the database.
  let sealing: SealingKeys
  private let context: ServiceContext

  /// Reads the keys, and makes the first one.
  ///
  /// - Throws: ``ServiceKit/ConfigurationError`` when the key-encryption keys open not all of them.
  init(_ context: ServiceContext) async throws {
    let settings = context.settings
    let sealing: SealingKeys
    do { sealing = try SealingKeys(parsing: settings[SigningKeyKeys.keyEncryptionKey]) } catch {
      throw Self.problem(error.description)
    }
    keyring = SigningKeyring(
      SigningKeyStore(context.database), sealedWith: sealing,
      policy: SigningKeyPolicy(
        period: settings[SigningKeyKeys.period], publishedAhead: settings[SigningKeyKeys.publishedAhead]),
      on: context.loops.loops[0], log: context.log, now: context.now)
    signer = AccessTokenSigner(
      keyring, issuer: settings[SigningKeyKeys.issuer], audience: settings[SigningKeyKeys.audience],
      countedBy: context.metrics.counter("parley_access_tokens_signed_total", help: "Access tokens that were signed."))
    (self.context, self.sealing) = (context, sealing)
    try await keyring.read()
    if let failure = keyring.failure {
      // Whether keys open does not change by waiting.
      throw failure.kind == .rejected ? Self.problem(failure.reason) : failure
    }
  }

  /// What it serves and what runs beside it.
  var parts: ServiceParts {
    describe()
    return ServiceParts(
      http: [KeySetRoute(keyring: keyring).route], jobs: [BackgroundJob("signing keys", rotate)])
  }

  /// The guard of this service's own methods of SESSION access: nothing is fetched, and nobody is asked.
  func authenticator(_ revocations: any RevocationFeed) -> SessionAuthenticator {
    let settings = context.settings
    return SessionAuthenticator(
      SessionPolicy(issuer: settings[SigningKeyKeys.issuer], audience: settings[SigningKeyKeys.audience]),
      keys: OwnSessionKeys(keyring), revocations: revocations, loops: context.loops.loops, clock: context.clock,
      metrics: context.metrics)
  }

  private static func problem(_ text: String) -> ConfigurationError {
    let key = SigningKeyKeys.keyEncryptionKey
    return ConfigurationError([.init(key: key.name, variable: "PARLEY_AUTH_\(key.variable)", text)])
  }

  /// Ahead of those who would otherwise wait for it.
  @Sendable private func rotate() async throws {
    let loop = context.loops.loops[0]
    while true {
      try await loop.sleep(for: SigningKeyring.rereadInterval * 2 / 3)
      try? await keyring.read()
    }
  }

  private func describe() {
    let keyring = keyring
    let age: @Sendable (Instant?) -> Double = { moment in
      moment.map { keyring.now().duration(since: $0) / .seconds(1) } ?? 0
    }
    context.metrics.gauge("parley_auth_signing_key_age_seconds", help: "For how long the active key has signed.") {
      age(keyring.latest.flatMap { keyring.active(of: $0, at: keyring.now())?.times.activatesAt })
    }
    context.metrics.gauge("parley_auth_signing_keys_read_age_seconds", help: "When the signing keys were read last.") {
      age(keyring.latest?.readAt)
    }
    context.metrics.gauge("parley_auth_signing_keys", help: "How many signing keys are published.") {
      Double(keyring.latest?.keys.count ?? 0)
    }
  }
}
