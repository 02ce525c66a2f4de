internal import AuthDomain
internal import AuthStore
internal import Logging
internal import Pages
internal import ParleyAPI
internal import RPC
internal import Values
internal import WellKnown

/// The broker's ledger and kill switches for operators.
struct BrokerAdminHandlers: BrokerAdminService.Handlers {
  private static let defaultPageSize = 50
  private static let maximumPageSize = 500
  private static let maximumReasonLength = 500

  let ledger: LedgerStore
  let switches: KillSwitchStore
  let watch: KillSwitchWatch
  let pages: PageKeyStore
  let subjects: any SubjectHashing
  /// What there is to stop.
  let capabilities: Set<String>
  let now: @Sendable () -> Instant
  let log: Logger

  func getLedger(_ request: GetLedgerRequest, _ call: CallContext) async throws -> GetLedgerResponse {
    let filter = try await filter(request)
    let size = try pageSize(request.pageSize)
    var before: UUID?
    let tokens = try await pages.tokens()
    if !request.pageToken.isEmpty {
      before = tokens.open(request.pageToken, in: call.method.path).flatMap { UUID(bytes: $0) }
      guard before != nil else { throw Self.invalid("page_token is not one that was handed out") }
    }
    // One more than is wanted tells whether there is another page.
    var entries = try await ledger.entries(filter, before: before, count: size + 1)
    let isLast = entries.count <= size
    entries = Array(entries.prefix(size))
    let next = isLast ? nil : entries.last.flatMap { UUID($0.id) }.map { tokens.seal($0.bytes, in: call.method.path) }
    return GetLedgerResponse(entries: entries.map(ParleyAPI.LedgerEntry.init), nextPageToken: next ?? "")
  }

  func setKillSwitch(_ request: SetKillSwitchRequest, _ call: CallContext) async throws -> SetKillSwitchResponse {
    guard request.capability == AuthDomain.KillSwitch.all || capabilities.contains(request.capability) else {
      // The configured names are no secret to an operator, and a mistyped one would stop nothing.
      let known = capabilities.sorted().joined(separator: ", ")
      throw Refusal(.unknownCapability).rpcError(saying: "unknown capability; there are \(known), and * for all")
    }
    guard (1...Self.maximumReasonLength).contains(request.reason.count) else {
      throw Self.invalid("reason has 1 to \(Self.maximumReasonLength) characters")
    }
    let operatorName = call.peerIdentity?.name ?? ""
    let person = try await subject(request.subject, request.subjectHash)
    let result = try await switches.set(
      AuthDomain.KillSwitch(
        capability: request.capability, subject: person, isStopped: request.stopped, reason: request.reason, changedAt: now(),
        changedBy: operatorName))
    log.warning(
      request.stopped ? "capability stopped" : "capability resumed",
      metadata: [
        "capability": "\(request.capability)", "subject": "\(person.map(\.description) ?? "everybody")",
        "operator": "\(operatorName)", "reason": "\(request.reason)",
      ])
    // This copy need not wait for its next look; if it cannot look now, the ledger still knows.
    try? await watch.refresh()
    return SetKillSwitchResponse(killSwitch: ParleyAPI.KillSwitch(result))
  }

  func getKillSwitches(_ request: GetKillSwitchesRequest, _ call: CallContext) async throws -> GetKillSwitchesResponse {
    GetKillSwitchesResponse(killSwitches: try await switches.all().map(ParleyAPI.KillSwitch.init))
  }

  // MARK: Requests

  private func filter(_ request: GetLedgerRequest) async throws -> LedgerFilter {
    let subject = try await subject(request.subject, request.subjectHash)
    let capability = request.capability.isEmpty ? nil : request.capability
    guard let filter = LedgerFilter(subject: subject, capability: capability) else {
      throw Self.invalid("a user or a capability is needed")
    }
    return filter
  }

  /// A person by what Google calls them, or by the hash of that; nil where neither is given.
  private func subject(_ subject: String, _ hash: String) async throws -> SubjectHash? {
    guard subject.isEmpty || hash.isEmpty else {
      throw Self.invalid("subject and subject_hash are given; one of them names a person")
    }
    if !subject.isEmpty {
      // As it is written everywhere: the first 16 bytes of it.
      do throws(PortFailure) { return SubjectHash(try await subjects.hash(subject).description) } catch {
        throw Refusal(error, .auditUnavailable).rpcError
      }
    }
    guard !hash.isEmpty else { return nil }
    guard let known = SubjectHash(hash) else { throw Self.invalid("subject_hash is not 32 hexadecimal digits in lower case") }
    return known
  }

  private func pageSize(_ wanted: Int32) throws -> Int {
    guard (0...Self.maximumPageSize).contains(Int(wanted)) else {
      throw Self.invalid("page_size is 0 to \(Self.maximumPageSize)")
    }
    return wanted == 0 ? Self.defaultPageSize : Int(wanted)
  }

  private static func invalid(_ message: String) -> RPCError {
    RPCError(
      .invalidArgument, message,
      details: [.errorInfo(reason: "INVALID_REQUEST", domain: Refusal.domain, metadata: [:])])
  }
}

extension Refusal {
  /// The refusal with another text than callers of the broker get.
  fileprivate func rpcError(saying message: String) -> RPCError {
    RPCError(kind.code, message, details: [.errorInfo(reason: kind.reason, domain: Self.domain, metadata: [:])])
  }
}

extension ParleyAPI.LedgerEntry {
  init(_ entry: AuthDomain.LedgerEntry) {
    let record = entry.record
    let outcome: LedgerOutcome =
      switch record.outcome {
      case .issued: .issued
      case .denied: .denied
      case .failed: .failed
      }
    self.init(
      id: entry.id, at: .init(record.at), subjectHash: record.subject.description, audience: record.audience,
      capability: record.capability, account: record.account, scope: record.scope,
      expiresAt: record.expiresAt.map { .init($0) }, clientAddress: record.address, requestID: record.requestID,
      outcome: outcome, reason: record.reason)
  }
}

extension ParleyAPI.KillSwitch {
  init(_ found: AuthDomain.KillSwitch) {
    self.init(
      capability: found.capability, stopped: found.isStopped, reason: found.reason, changedAt: .init(found.changedAt),
      changedBy: found.changedBy, subjectHash: found.subject?.description ?? "")
  }
}
