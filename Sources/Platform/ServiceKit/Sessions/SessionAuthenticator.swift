public import EventLoop
internal import JOSE
internal import JSON
public import RPC
internal import Synchronization
public import Telemetry
internal import Values

/// The guard of methods of SESSION access: verifies access tokens in this process, by keys and revocations that come from the auth
/// service.
///
/// A token that was verified is remembered by the loop that did it, for as long as the keys stay the same; its expiry, and whether its
/// session has ended, are looked at for every call, and all of it where the clock was set back since. A call with such a token costs no
/// signature and never waits.
public final class SessionAuthenticator: Authenticator {
  private let policy: SessionPolicy
  private let verification: VerificationPolicy
  private let leeway: Int64
  private let keys: any SessionKeys
  private let revocations: any RevocationFeed
  private let clock: WallClock
  private let loops: [EventLoop]
  /// One per loop, and one for callers elsewhere. Nobody else is at a loop's lock, so it costs next to nothing.
  private let caches: [RememberedTokens]
  private let metrics: PrometheusRegistry

  /// A guard for callers on these loops.
  ///
  /// - Parameters:
  ///   - policy: Which tokens are accepted.
  ///   - keys: What they are checked with.
  ///   - revocations: Which sessions have ended.
  ///   - rememberedPerLoop: How many verified tokens each loop remembers.
  ///   - loops: The loops that serve.
  ///   - clock: The time of day.
  ///   - metrics: Where refusals are counted by their distinct cause, which no caller learns.
  public init(
    _ policy: SessionPolicy, keys: any SessionKeys, revocations: any RevocationFeed, rememberedPerLoop: Int = 8192,
    loops: [EventLoop], clock: WallClock, metrics: PrometheusRegistry
  ) {
    self.policy = policy
    verification = policy.verification
    leeway = verification.expiryLeeway.components.seconds
    self.keys = keys
    self.revocations = revocations
    self.clock = clock
    self.loops = loops
    self.metrics = metrics
    caches = (0...loops.count).map { _ in RememberedTokens(capacity: rememberedPerLoop) }
  }

  /// Admits a call whose token was verified before, without waiting.
  ///
  /// - Returns: Whether it was admitted; if not, ``authenticate(_:)`` judges it.
  public func admitAtOnce(_ call: any ServerCall) throws -> Bool {
    guard let generation = keys.generationAtHand, let revision = revocations.revision else { return false }
    var caller: AttachableValue<Caller.Key>?
    call.withSoleAuthorization { field in
      caller = cache.caller(field, at: clock.unixSeconds, leeway, generation, revision, { self.revocations.ending(of: $0) })
    }
    guard let caller else { return false }
    call.updateValues { $0.attach(caller) }
    return true
  }

  /// Verifies the call's token and attaches the ``Caller``.
  ///
  /// - Throws: ``RPC/RPCError`` with `unauthenticated` when the token was judged (`MISSING_AUTHORIZATION`, `INVALID_ACCESS_TOKEN`,
  ///   `ACCESS_TOKEN_EXPIRED`, or why its session has ended), `unavailable` when it could not be (`KEYS_UNAVAILABLE`,
  ///   `REVOCATIONS_UNAVAILABLE`).
  public func authenticate(_ call: any ServerCall) async throws {
    call[Caller.Key.self] = try await caller(presenting: call.soleAuthorization)
  }

  /// Verifies the token of a request that is no RPC.
  ///
  /// - Parameter authorization: The request's one field of that name; nil where there is none, or more than one.
  /// - Throws: ``RPC/RPCError`` as ``authenticate(_:)``.
  public func caller(presenting authorization: String?) async throws(RPCError) -> Caller {
    do throws(Refused) {
      guard let authorization, let token = BearerField.token(in: authorization) else { throw Refused(.missingAuthorization) }
      let judgedAt = clock.unixSeconds
      let (entry, generation) = try await verified(token, at: judgedAt)
      // Read before the session is asked after: what ends in between has another number.
      let revision = revocations.revision
      if let ending = try await ending(of: entry.caller, isCurrent: revision != nil) { throw Refused(.ended(ending)) }
      cache.remember(
        authorization, entry.caller, expiry: entry.expiry, judgedAt: judgedAt, generation: generation, revision: revision ?? 0)
      return entry.caller
    } catch {
      count(error)
      throw error.refusal.rpcError(cause: error)
    }
  }

  // MARK: Judging

  private struct Refused: Error, CustomStringConvertible {
    let refusal: SessionRefusal
    let description: String

    init(_ refusal: SessionRefusal, detail: String? = nil) {
      self.refusal = refusal
      description = detail ?? refusal.reason
    }

    init(_ error: TokenError) {
      self.init(error.code == .expired ? .expiredToken : .invalidToken, detail: error.description)
    }
  }

  private func verified(
    _ token: Substring, at now: Int64
  ) async throws(Refused) -> (entry: (caller: Caller, expiry: Int64), generation: UInt64) {
    let unverified: UnverifiedToken
    do { unverified = try UnverifiedToken(parsing: Array(token.utf8), policy: verification, now: now) } catch {
      throw Refused(error)
    }
    let set = try await held { () async throws(SessionKeysUnavailable) in try await keys.current() }
    do {
      return (try Self.content(try unverified.verified(by: unverified.key(in: set.keys))), set.generation)
    } catch let error as TokenError {
      guard error.code == .keyUnknown || error.code == .signatureInvalid,
        let newer = try await held({ () async throws(SessionKeysUnavailable) in try await keys.newer(than: set) })
      else { throw Refused(error) }
      do { return (try Self.content(try unverified.verified(by: unverified.key(in: newer.keys))), newer.generation) } catch {
        throw (error as? Refused) ?? Refused(.invalidToken, detail: "\(error)")
      }
    } catch {
      throw (error as? Refused) ?? Refused(.invalidToken, detail: "\(error)")
    }
  }

  private static func content(_ token: VerifiedToken) throws(Refused) -> (caller: Caller, expiry: Int64) {
    func malformed(_ claim: String) -> Refused { Refused(.invalidToken, detail: "\(claim)_malformed") }
    guard token.header["typ"]?.string == SessionPolicy.type else { throw malformed("typ") }
    guard let user = token.subject.flatMap({ UUID($0) }) else { throw malformed("sub") }
    guard let session = token.claims["sid"]?.string.flatMap({ UUID($0) }) else { throw malformed("sid") }
    guard let app = token.claims["app"]?.string, !app.isEmpty else { throw malformed("app") }
    guard let authenticatedAt = token.claims["auth_time"]?.int64 else { throw malformed("auth_time") }
    return (Caller(userID: user, sessionID: session, app: app, authenticatedAt: authenticatedAt), token.expiry)
  }

  private func ending(of caller: Caller, isCurrent: Bool) async throws(Refused) -> SessionEnding? {
    // What has ended has ended, however old the news.
    if let ending = revocations.ending(of: caller.sessionID) { return ending }
    guard !isCurrent else { return nil }
    do { return try await revocations.ask(caller.sessionID) } catch {
      throw Refused(.revocationsUnavailable, detail: error.description)
    }
  }

  private func held<Value>(
    _ body: () async throws(SessionKeysUnavailable) -> Value
  ) async throws(Refused) -> Value {
    do { return try await body() } catch { throw Refused(.keysUnavailable, detail: error.description) }
  }

  private var cache: RememberedTokens {
    for (index, loop) in loops.enumerated() where loop.isCurrent { return caches[index] }
    return caches[loops.count]
  }

  private func count(_ refused: Refused) {
    let detail =
      switch refused.refusal {
      case .invalidToken: refused.description
      default: refused.refusal.reason.lowercased()
      }
    metrics.counter("parley_session_refused_total", help: "Calls refused for their session.", labels: [("cause", detail)])
      .increment()
  }
}
