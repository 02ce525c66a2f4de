internal import AuthDomain
internal import PostgreSQL
internal import Values

/// The broker's work on one request: the one way in for gRPC and for HTTP.
struct BrokerPipeline: Sendable {
  /// How it is set up.
  struct Rules: Sendable {
    var addressLimit = RateLimit(perMinute: 120, burst: 60)
    var userLimit = RateLimit(perMinute: 60, burst: 30)
    var gate = DomainGate("")
    var gatesWhoAmI = false
    var capabilities: CapabilityCatalogue
    /// The apps that a token's audience stands for.
    var apps: [String: [String]] = [:]
  }

  let rules: Rules
  let tokens: any IDTokenVerifying
  let limits: any RateLimiting
  let subjects: any SubjectHashing
  let cloud: any AccessTokenMinting
  let audit: any IssuanceAuditing
  let stops: any StopWatching
  let journal: BrokerJournal
  let now: @Sendable () -> Instant

  /// A cloud token for the bearer of an ID token, and the seconds it has left.
  func exchange(_ request: BrokerRequest) async throws(Refusal) -> (token: AccessToken, secondsLeft: Int64) {
    let passage = try await pass(request, .exchange)
    guard let token = passage.token else { preconditionFailure("the exchange has no step that mints") }
    return (token, token.secondsLeft(at: now()))
  }

  /// What an ID token says.
  func whoAmI(_ request: BrokerRequest) async throws(Refusal) -> CallerIdentity {
    let passage = try await pass(request, .whoAmI)
    guard let caller = passage.caller else { preconditionFailure("nobody is known without a step that verifies") }
    return caller
  }

  private func pass(_ request: BrokerRequest, _ operation: BrokerOperation) async throws(Refusal) -> BrokerPassage {
    var passage = BrokerPassage(request)
    do throws(Refusal) {
      for step in operation.steps(gatesWhoAmI: rules.gatesWhoAmI) { try await take(step, &passage, operation) }
    } catch {
      if error.kind.isAudited, !passage.isOnRecord {
        let denied = passage
        // Whoever hangs up on a refusal is on record all the same.
        passage = await uncancelled { await recordDenial(error, denied) }
      }
      journal.end(operation, passage, refusal: error)
      throw error
    }
    journal.end(operation, passage, refusal: nil)
    return passage
  }

  private func take(
    _ step: BrokerStep, _ passage: inout BrokerPassage, _ operation: BrokerOperation
  ) async throws(Refusal) {
    switch step {
    case .limitAddress: try await limit(.address(passage.request.addressKey), rules.addressLimit, .addressLimited)
    case .readAuthorization: passage.bearer = try bearer(passage.request)
    case .verifyToken: passage.caller = try await identity(passage.bearer)
    case .gateDomain:
      guard rules.gate.admits(passage.caller?.hostedDomain) else { throw Refusal(.wrongDomain) }
    case .requireSubject:
      guard passage.caller?.subject.isEmpty == false else { throw Refusal(.noSubject) }
    case .limitUser: try await limitUser(&passage, operation)
    case .chooseCapability:
      guard let found = rules.capabilities.capability(passage.request.capability) else { throw Refusal(.unknownCapability) }
      passage.capability = found
    case .checkStop:
      guard !stops.isStopped(chosen(passage).name) else { throw Refusal(.capabilityStopped) }
      let subject = try await subject(of: &passage, otherwise: .auditUnavailable)
      guard !stops.isStopped(subject, chosen(passage).name) else { throw Refusal(.callerStopped) }
    case .checkCap: try await checkCap(&passage)
    case .mint: passage.token = try await mint(passage)
    case .record: try await record(&passage)
    }
  }

  // MARK: Steps

  private func limit(_ key: LimitKey, _ limit: RateLimit, _ kind: Refusal.Kind) async throws(Refusal) {
    let now = now()
    let decision: LimitDecision
    do { decision = try await limits.take(key, limit, at: now) } catch { throw Refusal(error, .limiterUnavailable) }
    guard case .refused(let until) = decision else { return }
    throw Self.limited(until, from: now, by: limit, kind)
  }

  private static func limited(_ until: Instant, from now: Instant, by limit: RateLimit, _ kind: Refusal.Kind) -> Refusal {
    var refusal = Refusal(kind, retryAfter: RetryAfter.seconds(until: until, from: now))
    refusal.limit = limit
    return refusal
  }

  /// The token of the person's bucket travels with the record where every step between is sure to be taken, and asks nobody: whoever is
  /// refused learns the same, and costs the cloud nothing.
  private func limitUser(_ passage: inout BrokerPassage, _ operation: BrokerOperation) async throws(Refusal) {
    let subject = try await subject(of: &passage, otherwise: .limiterUnavailable)
    let (key, now) = (LimitKey.user(subject), now())
    guard operation == .exchange, let capability = rules.capabilities.capability(passage.request.capability),
      !stops.isStopped(capability.name), !stops.isStopped(subject, capability.name),
      capability.perDay == nil || !audit.isCapped(subject, capability.name, at: now), cloud.isAtHand(capability)
    else { return try await limit(key, rules.userLimit, .userLimited) }
    if case .refused(let until)? = limits.refusal(of: key, rules.userLimit, at: now) {
      throw Self.limited(until, from: now, by: rules.userLimit, .userLimited)
    }
    passage.limit = PersonLimit(key: key, limit: rules.userLimit)
  }

  private func bearer(_ request: BrokerRequest) throws(Refusal) -> String {
    guard let token = BearerToken.read(request.authorization) else { throw Refusal(.missingAuthorization) }
    return token
  }

  private func identity(_ bearer: String) async throws(Refusal) -> CallerIdentity {
    do { return try await tokens.verify(bearer) } catch {
      throw error.kind == .rejected ? Refusal(.invalidIDToken, detail: error.reason) : Refusal(error, .keysUnavailable)
    }
  }

  private func mint(_ passage: BrokerPassage) async throws(Refusal) -> AccessToken {
    do { return try await cloud.mint(chosen(passage)) } catch { throw Refusal(error, .mintFailed) }
  }

  private func chosen(_ passage: BrokerPassage) -> Capability { passage.capability ?? rules.capabilities.fallback }

  private func checkCap(_ passage: inout BrokerPassage) async throws(Refusal) {
    let capability = chosen(passage)
    guard capability.perDay != nil else { return }
    let (subject, now) = (try await subject(of: &passage, otherwise: .auditUnavailable), now())
    guard audit.isCapped(subject, capability.name, at: now) else { return }
    throw Self.capReached(at: now)
  }

  /// A token is handed out only once that is on record, and only if it still may be: minting takes its time.
  private func record(_ passage: inout BrokerPassage) async throws(Refusal) {
    let record = try await issuance(&passage, .issued)
    let decision: IssuanceDecision
    let holder = TokenHolder(
      subject: passage.caller?.subject ?? "", apps: rules.apps[passage.caller?.audience ?? ""] ?? [])
    do {
      decision = try await audit.issue(record, perDay: chosen(passage).perDay, to: holder, within: passage.limit)
    } catch {
      throw Refusal(error, .auditUnavailable)
    }
    passage.isOnRecord = true
    switch decision {
    case .limited(let until): throw Self.limited(until, from: record.at, by: rules.userLimit, .userLimited)
    case .issued: break
    case .stopped: throw Refusal(.capabilityStopped)
    case .callerStopped: throw Refusal(.callerStopped)
    case .capReached: throw Self.capReached(at: record.at)
    }
  }

  private static func capReached(at now: Instant) -> Refusal {
    Refusal(.capReached, retryAfter: RetryAfter.seconds(until: now.nextDay, from: now))
  }

  /// The caller is refused either way, so a record that cannot be written is only logged.
  private func recordDenial(_ refusal: Refusal, _ passage: BrokerPassage) async -> BrokerPassage {
    var passage = passage
    guard passage.caller?.subject.isEmpty == false else { return passage }
    do {
      var record = try await issuance(&passage, refusal.kind == .mintFailed ? .failed : .denied)
      record.reason = refusal.kind.reason
      try await audit.record(record)
    } catch {
      journal.lostDenial(refusal, "\(error)")
    }
    return passage
  }

  private func issuance(
    _ passage: inout BrokerPassage, _ outcome: IssuanceRecord.Outcome
  ) async throws(Refusal) -> IssuanceRecord {
    let subject = try await subject(of: &passage, otherwise: .auditUnavailable)
    return IssuanceRecord(
      at: now(), subject: subject, audience: passage.caller?.audience ?? "",
      // What a caller asked for in vain may be any text, so only known names are stored.
      capability: passage.capability?.name
        ?? (passage.request.capability?.isEmpty == false ? "" : CapabilityCatalogue.defaultName),
      account: passage.capability?.account ?? "", scope: passage.capability?.scope ?? "", expiresAt: passage.token?.expiresAt,
      address: passage.request.address,
      requestID: passage.request.requestID, outcome: outcome)
  }

  private func subject(of passage: inout BrokerPassage, otherwise kind: Refusal.Kind) async throws(Refusal) -> SubjectHash {
    if let known = passage.subject { return known }
    do {
      let hash = try await subjects.hash(passage.caller?.subject ?? "")
      passage.subject = hash
      return hash
    } catch {
      throw Refusal(error, kind)
    }
  }
}

extension Refusal {
  /// What becomes of a port's failure: `kind`, unless nobody waits any more.
  init(_ failure: PortFailure, _ kind: Kind) {
    self.init(failure.kind == .cancelled ? .cancelled : kind, detail: failure.reason)
  }
}
