import AuthAPI
import AuthDomain
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import TestSupport
import Testing

@Suite("Callers who are stopped", .serialized)
struct StoppedCallerTests {
  /// The clock stands, so no bucket fills.
  private static let settings = BrokerTests.capabilities.merging(["RATE_BURST": "1000", "IP_BURST": "1000"]) { $1 }

  private static func refusal(_ broker: BrokerFixture, _ user: String, _ capability: String = "") async -> String {
    await ending { () async throws(RPCError) in
      try await broker.exchange(broker.idToken(user), from: "198.51.100.\(Int.random(in: 1...250))", capability: capability)
    }
  }

  @Test("Whose account is suspended gets no cloud token, at once and on every copy, until it is reinstated (AF-02)")
  func suspended() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, settings: Self.settings) { one in
        try await BrokerFixture.with(database, settings: Self.settings) { other in
          let ana = try #require(try await one.signIn().profile?.userID)
          _ = try await one.signIn("bo")
          for broker in [one, other] { #expect(await Self.refusal(broker, "ana") == "OK") }
          let users = UserAdminService.Client(one.operators)
          _ = try await users.suspendUser(.init(userID: ana, reason: "abuse"), options: .timeout(.seconds(30)))
          for broker in [other, one] {
            #expect(await Self.refusal(broker, "ana") == "FAILED_PRECONDITION CALLER_STOPPED")
            // Nobody else notices: neither who has an account nor who has none.
            for user in ["bo", "cy"] { #expect(await Self.refusal(broker, user) == "OK") }
          }
          let http = try await other.get("/token", token: other.idToken("ana"))
          #expect(http.status == 403 && http.text == "caller stopped")
          _ = try await users.reinstateUser(.init(userID: ana, reason: "found"), options: .timeout(.seconds(30)))
          #expect(await Self.refusal(other, "ana") == "OK")
        }
      }
      let denied: [String] = try await database.values(
        "select concat_ws('|', outcome, reason, expires_at) from auth.token_issuance where outcome <> 'issued'")
      #expect(denied == [String](repeating: "denied|CALLER_STOPPED", count: 3))
    }
  }

  @Test("A switch for one person stops that person alone, for one capability or all, on every copy, and stays on record (AF-02)")
  func person() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, settings: Self.settings) { one in
        try await BrokerFixture.with(database, settings: Self.settings) { other in
          func set(_ request: SetKillSwitchRequest) async throws -> ParleyAPI.KillSwitch? {
            try await one.admin.setKillSwitch(request, options: .timeout(.seconds(30))).killSwitch
          }
          for broker in [one, other] { #expect(await Self.refusal(broker, "ana", "speech") == "OK") }
          let subject = "ana"
          let stop = try #require(
            try await set(.init(capability: "speech", stopped: true, reason: "abuse", subject: subject)))
          #expect(stop.subjectHash.utf8.count == 32 && stop.stopped && stop.changedBy == ClientCertificates.operatorName)
          for broker in [other, one] {
            #expect(await Self.refusal(broker, "ana", "speech") == "FAILED_PRECONDITION CALLER_STOPPED")
            #expect(await Self.refusal(broker, "ana") == "OK")
            #expect(await Self.refusal(broker, "bo", "speech") == "OK")
          }
          _ = try await set(.init(capability: "*", stopped: true, reason: "more", subjectHash: stop.subjectHash))
          #expect(await Self.refusal(other, "ana") == "FAILED_PRECONDITION CALLER_STOPPED")
          // What is stopped for everybody is told as that, and its end opens nothing for her.
          _ = try await set(.init(capability: "*", stopped: true, reason: "leak"))
          // A copy may know of her switch for one look longer than of the newer one.
          try await eventually { await Self.refusal(other, "ana") == "FAILED_PRECONDITION CAPABILITY_STOPPED" }
          _ = try await set(.init(capability: "*", stopped: false, reason: "mended"))
          try await eventually { await Self.refusal(other, "bo") == "OK" }
          #expect(await Self.refusal(other, "ana") == "FAILED_PRECONDITION CALLER_STOPPED")
          for capability in ["*", "speech"] {
            _ = try await set(
              .init(capability: capability, stopped: false, reason: "talked to", subjectHash: stop.subjectHash))
          }
          for broker in [one, other] {
            try await eventually { await Self.refusal(broker, "ana", "speech") == "OK" }
          }
          let all = try await one.admin.getKillSwitches(options: .timeout(.seconds(30))).killSwitches
          #expect(all.map(\.capability) == ["*", "*", "speech"])
          #expect(all.map(\.subjectHash) == ["", stop.subjectHash, stop.subjectHash])
          let audit = try await UserAdminService.Client(one.operators).listAudit(
            .init(action: AuthDomain.AuditEntry.stopped), options: .timeout(.seconds(30))
          ).entries.filter { $0.note == "abuse" }
          #expect(audit.map(\.subjectHash) == [stop.subjectHash])
        }
      }
      let changes: [String] = try await database.values(
        "select concat_ws('|', capability, is_stopped, reason) from auth.kill_switch_change where subject_hash <> ''")
      // The clock stands, and so do their times.
      #expect(changes.sorted() == ["*|f|talked to", "*|t|more", "speech|f|talked to", "speech|t|abuse"])
    }
  }

  @Test("A switch is for one person named in one way, or for everybody (AF-02)")
  func requests() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database) { broker in
        for request in [
          SetKillSwitchRequest(
            capability: "*", stopped: true, reason: "x", subject: "s", subjectHash: String(repeating: "0", count: 32)),
          .init(capability: "*", stopped: true, reason: "x", subjectHash: "short"),
          .init(capability: "*", stopped: true, reason: "x", subjectHash: String(repeating: "A", count: 32)),
        ] {
          let refused = await ending { () async throws(RPCError) in
            try await broker.admin.setKillSwitch(request, options: .timeout(.seconds(30)))
          }
          #expect(refused == "INVALID_ARGUMENT INVALID_REQUEST")
        }
        let count = try await database.value("select count(*) from auth.kill_switch", as: Int64.self)
        #expect(count == 0)
      }
    }
  }
}
