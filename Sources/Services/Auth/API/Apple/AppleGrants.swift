internal import AppleProvider
internal import AuthDomain
internal import AuthStore
internal import JOSE
internal import Logging
internal import PostgreSQL
internal import Telemetry
internal import Values

/// What Apple has granted for people: the refresh token that comes of a sign-in's authorization code, kept sealed until it is revoked.
///
/// Somebody who signs in waits for no answer of Apple's: the code is kept, sealed as well, and exchanged in the background within its
/// five minutes, by whichever copy of the service comes first.
struct AppleGrants: ProviderGrantRevoking {
  /// How a code came to its end, for metrics.
  private enum CodeOutcome: String { case exchanged, postponed, failed, notKept = "not_kept" }

  /// The most bytes of a code.
  static let longestCode = 1024
  /// How long somebody who signs in waits for the code to be kept.
  private static let keepPatience = Duration.seconds(2)
  /// How long Apple is left alone with a code after it could not be asked.
  private static let pause = Duration.seconds(15)

  let provider = AuthDomain.IdentityProvider.apple.rawValue
  let store: ProviderGrantStore
  let tokens: AppleTokenClient
  let sealing: SealingKeys
  /// Longer than ``tokens`` takes.
  let lease: Duration
  let log: Logger
  let metrics: PrometheusRegistry
  let now: @Sendable () -> Instant

  // MARK: Codes

  /// Keeps a sign-in's code. A sign-in that has been done does not fail for it: what goes wrong is logged and counted.
  func keep(code: String, of subject: String, for grant: ProviderGrant) async {
    do {
      let box = try sealing.seal(Array(subject.utf8) + [0] + Array(code.utf8), for: Self.purpose("code", grant))
      try await store.keep(code: box.bytes, for: grant, at: now(), within: Self.keepPatience)
    } catch {
      count(.notKept)
      log.error("an authorization code was not kept", metadata: fields(grant, "\(error)"))
    }
  }

  /// Exchanges codes whose turn it is.
  ///
  /// - Returns: How many there were.
  func exchangeCodes(atMost limit: Int) async throws(DatabaseError) -> Int {
    let codes = try await store.claimCodes(atMost: limit, for: lease, at: now())
    guard codes.count > 1 else {
      for code in codes { try await exchange(code) }
      return codes.count
    }
    // Apple may be slow with one of them.
    let failure = await withTaskGroup(of: DatabaseError?.self) { tasks in
      for code in codes {
        tasks.addTask {
          do throws(DatabaseError) { try await exchange(code) } catch { return error }
          return nil
        }
      }
      return await tasks.reduce(nil) { $0 ?? $1 }
    }
    if let failure { throw failure }
    return codes.count
  }

  private func exchange(_ code: ProviderGrantStore.PendingCode) async throws(DatabaseError) {
    let grant = code.grant
    // As long as a code from then would still be good, and no longer.
    guard now() < code.expiresAt else { return try await giveUp(code, "code_expired") }
    let (subject, text): (String, String)
    do throws(SealingError) {
      let bytes = try sealing.open(SealedBox(bytes: code.sealed), for: Self.purpose("code", grant))
      let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
      (subject, text) = (String(decoding: parts[0], as: UTF8.self), String(decoding: parts[parts.count - 1], as: UTF8.self))
    } catch { return try await giveUp(code, error.description) }
    let answer: AppleTokenGrant
    do throws(AppleTokenError) { answer = try await tokens.exchange(code: text, clientID: grant.clientID) } catch {
      // Whoever stops leaves the code to the next one, after the lease.
      if error.code == .cancelled { return }
      guard error.code == .unavailable else { return try await giveUp(code, error.description) }
      count(.postponed)
      log.warning("an authorization code is to be exchanged again", metadata: fields(grant, error.description))
      return try await store.postpone(
        code, until: now().advanced(by: Self.pause), failure: error.description, at: now())
    }
    guard let token = answer.refreshToken, !token.isEmpty else { return try await giveUp(code, "no_refresh_token") }
    // A code of somebody else's would have the wrong person's consent revoked one day.
    guard answer.subject == subject else { return try await giveUp(code, "other_subject") }
    let box: SealedBox
    do throws(SealingError) { box = try sealing.seal(Array(token.utf8), for: Self.purpose("token", grant)) } catch {
      return try await giveUp(code, error.description)
    }
    let held = ProviderGrantStore.HeldToken(grant: grant, sealed: box.bytes, sealedWith: box.keyID)
    if try await store.keep(token: held, for: code, at: now()) { return count(.exchanged) }
    // The account was deleted meanwhile.
    do throws(AppleTokenError) { _ = try await tokens.revoke(token, clientID: grant.clientID) } catch {
      log.error("a token of a deleted account was not revoked", metadata: fields(grant, error.description))
    }
    count(.failed)
  }

  private func giveUp(_ code: ProviderGrantStore.PendingCode, _ failure: String) async throws(DatabaseError) {
    count(.failed)
    log.error("no token was got for an authorization code", metadata: fields(code.grant, failure))
    try await store.giveUp(code, failure: failure, at: now())
  }

  // MARK: Revoking

  /// As ``AuthDomain/ProviderGrantRevoking/revokeGrants(of:)``: what Apple does not know any more is done as well.
  func revokeGrants(of user: UserID) async throws -> Int {
    // What was granted by a sign-in a moment ago is revoked, too.
    for code in try await store.claimCodes(of: user, atMost: 16, for: lease, at: now()) { try await exchange(code) }
    try Task.checkCancellation()
    guard try await !store.hasCode(of: user) else {
      throw PortFailure(.unavailable, reason: "an authorization code is being exchanged")
    }
    var (revoked, failure): (Int, PortFailure?) = (0, nil)
    for token in try await store.tokens(of: user) {
      let ending: ProviderGrant.Ending
      do throws(PortFailure) { ending = try await revoke(token) } catch {
        if error.kind == .cancelled { throw CancellationError() }
        failure = error
        count("failed")
        log.error("a grant of Apple's was not revoked", metadata: fields(token.grant, error.reason))
        try await store.fail(token, failure: error.reason, at: now())
        continue
      }
      try await store.end(token, ending, at: now())
      if ending == .revoked { revoked += 1 }
      count(ending.rawValue)
      log.notice("a grant of Apple's has ended", metadata: fields(token.grant, ending.rawValue))
    }
    if let failure { throw failure }
    return revoked
  }

  private func revoke(_ held: ProviderGrantStore.HeldToken) async throws(PortFailure) -> ProviderGrant.Ending {
    let token: String
    do throws(SealingError) {
      token = String(
        decoding: try sealing.open(SealedBox(bytes: held.sealed), for: Self.purpose("token", held.grant)), as: UTF8.self)
    } catch { throw PortFailure(.rejected, reason: error.description) }
    do throws(AppleTokenError) {
      switch try await tokens.revoke(token, clientID: held.grant.clientID) {
      case .revoked: return .revoked
      case .alreadyInvalid: return .alreadyInvalid
      }
    } catch {
      switch error.code {
      case .cancelled: throw .cancelled
      case .unavailable: throw PortFailure(.unavailable, reason: error.description)
      default: throw PortFailure(.rejected, reason: error.description)
      }
    }
  }

  // MARK: Sealing anew

  /// Seals with the first key what is sealed with another one.
  ///
  /// - Returns: How many tokens could not be opened.
  @discardableResult
  func rewrap() async throws(DatabaseError) -> Int {
    var (last, stuck): (ProviderGrantStore.HeldToken?, Int) = (nil, 0)
    while true {
      let page = try await store.tokens(notSealedWith: sealing.sealingKeyID, after: last, limit: 100)
      for token in page where try await !rewrap(token) { stuck += 1 }
      guard page.count == 100 else { break }
      last = page.last
    }
    if stuck > 0 {
      log.error("grants of Apple's were sealed with a key that is not given", metadata: ["grants": "\(stuck)"])
    }
    return stuck
  }

  private func rewrap(_ token: ProviderGrantStore.HeldToken) async throws(DatabaseError) -> Bool {
    let purpose = Self.purpose("token", token.grant)
    let box: SealedBox
    do throws(SealingError) {
      box = try sealing.seal(sealing.open(SealedBox(bytes: token.sealed), for: purpose), for: purpose)
    } catch { return false }
    _ = try await store.rewrap(token, as: box.bytes, with: box.keyID)
    return true
  }

  // MARK: Telling

  /// Whose it is and for what: it opens nowhere else.
  private static func purpose(_ kind: String, _ grant: ProviderGrant) -> String { "auth.provider_grant \(kind) \(grant)" }

  private func fields(_ grant: ProviderGrant, _ cause: String) -> Logger.Metadata {
    ["user": "\(grant.user)", "client": "\(grant.clientID)", "cause": "\(cause)"]
  }

  private func count(_ outcome: CodeOutcome) {
    metrics.counter(
      "parley_apple_codes_total", help: "Authorization codes of Apple's by what became of them.",
      labels: [("outcome", outcome.rawValue)]
    ).increment()
  }

  private func count(_ answer: String) {
    metrics.counter(
      "parley_apple_revocations_total", help: "Grants of Apple's that were to be revoked, by the answer.",
      labels: [("answer", answer)]
    ).increment()
  }
}
