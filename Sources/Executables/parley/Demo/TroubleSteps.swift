import EventLoop
import ParleyAPI
import PostgreSQL
import RPC

/// What happens around the service: keys change, the provider fails, and what stays written.
enum TroubleSteps {
  static let all = [
    DemoStep("key rotation") { try await keyRotation($0) },
    DemoStep("provider outage and recovery") { try await outage($0) },
    DemoStep("audit row") { try await auditRow($0) },
  ]

  /// Two fetches of keys that unknown ones cause are 30 s apart, unless the operator says otherwise.
  private static let patience = Duration.seconds(75)

  /// Google takes its key back: tokens by the new one pass and those by the old one do not, at every copy.
  private static func keyRotation(_ stage: DemoStage) async throws -> String {
    let old = try await stage.idToken(of: "old-key")
    for copy in stage.copies { _ = try await TokenBrokerService.Client(copy).whoAmI(options: stage.options(old)) }
    try await stage.sandbox.rotateKeys()
    let new = try await stage.idToken(of: "new-key")
    let started = MonotonicInstant.now()
    for copy in stage.copies {
      let broker = TokenBrokerService.Client(copy)
      try await eventually("the new key's token passes", within: patience) {
        _ = try await broker.whoAmI(options: stage.options(new))
      }
      let error = try await refusal { _ = try await broker.whoAmI(options: stage.options(old)) }
      guard let error, error.code == .unauthenticated else {
        throw StepFailure(expected: "UNAUTHENTICATED for the withdrawn key's token", came: error.map { "\($0)" } ?? "an answer")
      }
    }
    let seconds = Int(MonotonicInstant.now().duration(since: started) / .seconds(1))
    let waited = seconds > 1 ? ", after \(seconds) s of pause between key fetches" : ""
    let copies = stage.copies.count == 1 ? "1 copy" : "\(stage.copies.count) copies"
    return "at \(copies) the new key's token passes and the old one's does not\(waited)"
  }

  /// The token endpoint answers 503: callers are told, without detail, and served again once it is back.
  private static func outage(_ stage: DemoStage) async throws -> String {
    let endpoint = "/google/token"
    let token = try await stage.idToken(of: "unlucky")
    let asked = try await stage.sandbox.requests(for: endpoint)
    try await stage.sandbox.fail(endpoint, status: 503)
    let outcome: Result<RPCError?, any Error>
    do {
      outcome = .success(try await refusal { _ = try await stage.broker.exchangeToken(options: stage.options(token)) })
    } catch { outcome = .failure(error) }
    try await stage.sandbox.endFaults()
    let attempts = try await stage.sandbox.requests(for: endpoint) - asked
    guard let failure = try outcome.get() else {
      guard attempts == 0 else { throw StepFailure(expected: "a refusal while the provider fails", came: "a token") }
      // Somebody's earlier call left a long-lived token in this copy.
      return "the copy's shared token bridged the outage, the provider was not asked"
    }
    guard failure.reason == "MINT_FAILED", failure.message == "token mint failed" else {
      throw StepFailure(expected: "MINT_FAILED: token mint failed", came: "\(failure)")
    }
    let recovery = MonotonicInstant.now()
    try await eventually("a token comes once the provider is back", within: .seconds(30)) {
      _ = try await stage.broker.exchangeToken(options: stage.options(token))
    }
    let milliseconds = Int(MonotonicInstant.now().duration(since: recovery) / .milliseconds(1))
    return "503 there is '\(failure.message)' here after \(attempts) attempts; tokens again \(milliseconds) ms after its return"
  }

  /// An exchange leaves one row in the audit, and nothing in it is a token.
  private static func auditRow(_ stage: DemoStage) async throws -> String {
    let end = MonotonicInstant.now().advanced(by: .seconds(5))
    while !stage.database.isReady && MonotonicInstant.now() < end { try await Task.sleep(for: .milliseconds(20)) }
    let (before, _) = try await rows(stage)
    let idToken = try await stage.idToken(of: "audited")
    let response = try await stage.broker.exchangeToken(options: stage.options(idToken))
    let (after, text) = try await rows(stage)
    guard after == before + 1 else { throw StepFailure(expected: "one row more than \(before)", came: "\(after) rows") }
    guard !text.contains(response.accessToken), !text.contains(idToken), !text.contains(stage.subject("audited")) else {
      throw StepFailure(expected: "no token and no plain subject in the audit", came: "one of them")
    }
    return "one row more in auth.token_issuance, the person hashed, no token in it"
  }

  /// The rows of this run's own address: how many, and all their text.
  private static func rows(_ stage: DemoStage) async throws -> (Int, String) {
    let row: (Int, String)? = try await stage.database.row(
      """
      select count(*), coalesce(string_agg(issuance::text, ' '), '') from auth.token_issuance issuance
      where client_address = \(stage.address) and outcome = 'issued'
      """, deadline: .now().advanced(by: .seconds(5)))
    guard let row else { throw StepFailure(expected: "a count", came: "no row") }
    return row
  }
}
