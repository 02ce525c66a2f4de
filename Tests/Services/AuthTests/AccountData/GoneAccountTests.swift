import AuthDomain
import AuthStore
import EventLoop
import PostgreSQL
import TestSupport
import Testing
import Values

@Suite("What is written while an account goes", .serialized)
struct GoneAccountTests {
  private static let ana = BillingHistoryTests.ana
  private static let start = BillingHistoryTests.start

  /// Something that is written for an account by somebody who does not hold its row.
  enum Late: String, CaseIterable, Sendable {
    case code, note, notice, event, answer, failure

    /// What it writes to, beside its own claim.
    var table: String {
      switch self {
      case .code: "provider_grant"
      case .note, .notice: "activity"
      case .event, .answer, .failure: "entitlement"
      }
    }

    func write(_ database: Database) async throws {
      let entitlements = EntitlementStore(database, entitlements: [], patience: .seconds(60))
      switch self {
      case .code:
        try await ProviderGrantStore(database).keep(
          code: [1], for: ProviderGrant(user: ana, provider: .google, clientID: "app"), at: start, within: .seconds(60))
      case .note:
        try await ActivityStore(database, patience: .seconds(60)).add(
          Activity(
            user: ana, app: "default", at: start, action: .signedIn, outcome: .refused, address: "192.0.2.1", requestID: "r"))
      case .notice:
        let sessions = SessionStore(database, tokensOutlive: .seconds(600))
        let notice = ProviderNotice(
          provider: .google, id: "n1", word: "consent-revoked", kind: .consentRevoked, clientID: "app", subject: "sub-ana",
          occurredAt: start)
        _ = try await ProviderNoticeStore(database, sessions: sessions, patience: .seconds(60)).take(
          notice, for: ["default"], at: start, requestID: "r")
      case .event:
        _ = try await entitlements.take(BillingHistoryTests.event("e1", "RENEWAL", at: 0), body: [1], at: start)
      case .answer:
        _ = try await entitlements.apply(
          SubscriptionSnapshot(at: start, subscriptions: []), original: CustomerID(ana), managementURL: nil, to: ana,
          startedAt: start, at: start)
      case .failure: try await entitlements.noteFailure(of: ana, at: start)
      }
    }

    private var ana: UserID { GoneAccountTests.ana }
    private var start: Instant { GoneAccountTests.start }
  }

  @Test(
    "What is written for an account while it is being removed waits, and then leaves no row of it (AF-01)",
    arguments: Late.allCases)
  func waits(_ late: Late) async throws {
    try await LimitStoreTests.withStore { database, group, prepared in
      try await BillingFixture.makeAccounts([Self.ana], in: prepared)
      try await prepared.script(
        "insert into auth.identity_lookup values ('default', 'google', 'sub-ana', '\(Self.ana)', now())")
      let user = UUID(high: Self.ana.high, low: Self.ana.low)
      let writing = try await database.transaction { transaction in
        // As the last step of a deletion does.
        try await transaction.executeAll([
          "delete from auth.identity_lookup where user_id = \(user)", "delete from auth.account where user_id = \(user)",
        ])
        let writing = Task(executorPreference: group.loops[1]) { try await late.write(database) }
        try await eventually {
          let waiting = try? await prepared.value(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
            as: Int64.self)
          return waiting == 1
        }
        return writing
      }
      try await writing.value
      let rows: [Int64] =
        switch late.table {
        case "provider_grant": try await prepared.values("select count(*) from auth.provider_grant")
        case "activity": try await prepared.values("select count(*) from auth.activity")
        default: try await prepared.values("select count(*) from auth.entitlement")
        }
      #expect(rows == [0])
      let bodies: [Int32] = try await prepared.values(
        "select cardinality(all_customers) + length(body) from auth.webhook_event")
      #expect(bodies.allSatisfy { $0 == 0 })
    }
  }
}
