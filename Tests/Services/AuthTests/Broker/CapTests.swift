import AuthAPI
import EventLoop
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import TestSupport
import Testing

extension BrokerTests {
  @Test("AUTH-B1: of 40 exchanges at once over two copies a cap of 5 lets 5 through; the rest may come back tomorrow")
  func cap() async throws {
    try await BrokerDatabase.with { database in
      let settings = Self.capabilities.merging([
        "PARLEY_AUTH_CAPABILITY_ISSUES_PER_DAY": "speech=5", "RATE_BURST": "1000", "IP_BURST": "1000",
      ]) { $1 }
      let clock = VirtualClock()
      try await BrokerFixture.with(database, clock: clock, settings: settings) { one in
        try await BrokerFixture.with(database, clock: clock, settings: settings) { other in
          let outcomes = await withTaskGroup(of: String.self) { tasks in
            for number in 0..<40 {
              tasks.addTask {
                do throws(RPCError) {
                  _ = try await (number % 2 == 0 ? one : other).exchange(one.idToken(), capability: "speech")
                  return "issued"
                } catch { return error.reason ?? "\(error)" }
              }
            }
            return await tasks.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
          }
          #expect(outcomes == ["issued": 5, "CAP_REACHED": 35])
          let left = 86_400 - FakeGoogle.now % 86_400
          let refused = await #expect(throws: RPCError.self) { try await one.exchange(one.idToken(), capability: "speech") }
          #expect(refused?.code == .resourceExhausted && refused?.message == "daily cap reached")
          #expect(refused?.metadata["retry-after"] == "\(left)" && refused?.retryAfter == .seconds(left))
          let http = try await other.get("/token?capability=speech", token: one.idToken())
          #expect(http.status == 429 && http.text == "daily cap reached" && http.headers["retry-after"] == "\(left)")
          // Others, and other capabilities, have a cap of their own.
          _ = try await one.exchange(one.idToken("bo"), capability: "speech")
          _ = try await one.exchange(one.idToken(), capability: "gemini")
          _ = try await one.exchange(one.idToken())
          clock.advance(by: .seconds(left))
          _ = try await other.exchange(one.idToken(), capability: "speech")
        }
      }
      let issued = try await database.value(
        "select count(*) from auth.token_issuance where capability = 'speech' and outcome = 'issued'", as: Int.self)
      #expect(issued == 7)
      let counted = try await database.value(
        "select sum(issued)::bigint from auth.capability_use where capability = 'speech'", as: Int.self)
      #expect(counted == 7)
      let denied: [String] = try await database.values(
        "select distinct concat_ws('|', outcome, reason, expires_at) from auth.token_issuance where outcome <> 'issued'")
      #expect(denied == ["denied|CAP_REACHED"])
    }
  }

  @Test("AUTH-B1: a cap that is reached asks neither cloud nor database any more, and puts one line on record")
  func rememberedCap() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(
        database, settings: ["PARLEY_AUTH_ISSUES_PER_DAY": "2", "MINT_CACHE_ENABLED": "false"]
      ) { broker in
        for _ in 0..<2 { _ = try await broker.exchange(broker.idToken()) }
        for _ in 0..<5 {
          let error = await #expect(throws: RPCError.self) { try await broker.exchange(broker.idToken()) }
          #expect(error?.reason == "CAP_REACHED")
        }
        #expect(broker.google.mints == 3)
      }
      let lines: [String] = try await database.values(
        "select outcome || reason from auth.token_issuance order by outcome || reason")
      #expect(lines == ["deniedCAP_REACHED", "issued", "issued"])
    }
  }

  // MARK: Kill switch

  @Test("AUTH-B1: a kill switch stops a capability on every copy before the next token, whatever is cached, until it is resumed")
  func killSwitch() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, settings: Self.capabilities) { one in
        try await BrokerFixture.with(database, settings: Self.capabilities) { other in
          for broker in [one, other] { _ = try await broker.exchange(broker.idToken(), capability: "speech") }
          let set = try await one.admin.setKillSwitch(
            .init(capability: "speech", stopped: true, reason: "leaked"), options: .timeout(.seconds(20)))
          #expect(set.killSwitch?.changedBy == ClientCertificates.operatorName && set.killSwitch?.stopped == true)
          // At once, without waiting for the other copy's next look: the ledger decides.
          for broker in [other, one] {
            let error = await #expect(throws: RPCError.self) {
              try await broker.exchange(broker.idToken(), capability: "speech")
            }
            #expect(error?.code == .failedPrecondition && error?.message == "capability stopped")
            #expect(error?.reason == "CAPABILITY_STOPPED" && error?.retryAfter == nil)
          }
          let http = try await other.get("/token?capability=speech", token: other.idToken())
          #expect(http.status == 403 && http.text == "capability stopped")
          _ = try await other.exchange(other.idToken(), capability: "gemini")
          _ = try await one.admin.setKillSwitch(
            .init(capability: "speech", stopped: false, reason: "rotated"), options: .timeout(.seconds(20)))
          // A copy may know of the stop for one look longer than it holds.
          try await eventually { (try? await other.exchange(other.idToken("bo"), capability: "speech")) != nil }
          _ = try await other.admin.setKillSwitch(
            .init(capability: "*", stopped: true, reason: "everything"), options: .timeout(.seconds(20)))
          for capability in ["", "speech", "gemini"] {
            let error = await #expect(throws: RPCError.self) {
              try await one.exchange(one.idToken("cy"), capability: capability)
            }
            #expect(error?.reason == "CAPABILITY_STOPPED", "\(capability)")
          }
          let all = try await one.admin.getKillSwitches(options: .timeout(.seconds(20))).killSwitches
          #expect(all.map(\.capability) == ["*", "speech"] && all.map(\.stopped) == [true, false])
        }
      }
      let changes: [String] = try await database.values(
        "select concat_ws('|', capability, is_stopped, reason, changed_by) from auth.kill_switch_change order by changed_at, id")
      let who = ClientCertificates.operatorName
      #expect(
        Set(changes) == ["speech|t|leaked|\(who)", "speech|f|rotated|\(who)", "*|t|everything|\(who)"] && changes.count == 3)
      let denied: [String] = try await database.values(
        "select distinct concat_ws('|', outcome, reason, capability) from auth.token_issuance where outcome <> 'issued' order by 1"
      )
      #expect(
        denied == [
          "denied|CAPABILITY_STOPPED|default", "denied|CAPABILITY_STOPPED|gemini", "denied|CAPABILITY_STOPPED|speech",
        ])
    }
  }

  @Test("AUTH-B1: once a copy has seen the switch, nothing is asked of the cloud for what is stopped")
  func killSwitchSparesTheCloud() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, settings: ["MINT_CACHE_ENABLED": "false"]) { broker in
        try await database.script(
          "insert into auth.kill_switch values ('default', true, 'by hand', now(), 'a database administrator')")
        try await eventually {
          let before = broker.google.mints
          broker.clock.advance(by: .seconds(1))
          guard let error = await broker.refusal() else { return false }
          return error.reason == "CAPABILITY_STOPPED" && broker.google.mints == before
        }
      }
      let issued = try await database.value(
        "select count(*) from auth.token_issuance where outcome = 'issued'", as: Int.self)
      #expect(issued == 0)
    }
  }

  @Test("Only operators known by their certificates set switches and read the ledger")
  func operatorsOnly() async throws {
    try await Self.withBroker { broker in
      for (channel, code) in [(broker.channel, StatusCode.unauthenticated), (broker.services, .permissionDenied)] {
        let client = BrokerAdminService.Client(channel)
        let options = broker.options(broker.idToken())
        let set = await #expect(throws: RPCError.self) {
          try await client.setKillSwitch(.init(capability: "*", stopped: true, reason: "x"), options: options)
        }
        let ledger = await #expect(throws: RPCError.self) {
          try await client.getLedger(.init(capability: "default"), options: options)
        }
        let list = await #expect(throws: RPCError.self) { try await client.getKillSwitches(options: options) }
        #expect([set?.code, ledger?.code, list?.code] == [code, code, code])
      }
      _ = try await broker.exchange(broker.idToken())
    }
  }

  @Test(
    "AUTH-B1: a switch for what is no capability, or without a reason, is refused and changes nothing",
    arguments: [
      ("money", "x", "UNKNOWN_CAPABILITY"), ("", "x", "UNKNOWN_CAPABILITY"), ("speech", "", "INVALID_REQUEST"),
      ("speech", String(repeating: "x", count: 501), "INVALID_REQUEST"),
    ])
  func badSwitch(capability: String, reason: String, code: String) async throws {
    try await Self.withBroker(Self.capabilities) { broker in
      let error = await #expect(throws: RPCError.self) {
        try await broker.admin.setKillSwitch(
          .init(capability: capability, stopped: true, reason: reason), options: .timeout(.seconds(20)))
      }
      #expect(error?.code == .invalidArgument && error?.reason == code)
      let switches = try await broker.admin.getKillSwitches(options: .timeout(.seconds(20))).killSwitches
      #expect(switches.isEmpty)
    }
  }

  // MARK: Ledger

  @Test("AUTH-B1: the ledger is read by user, by capability and by both, page by page, newest first")
  func ledger() async throws {
    try await Self.withBroker(Self.capabilities) { broker in
      for number in 0..<7 {
        broker.clock.advance(by: .seconds(1))
        _ = try await broker.exchange(broker.idToken(number % 2 == 0 ? "ana" : "bo"), capability: number < 4 ? "speech" : "")
      }
      // Names grow with time; within a millisecond they come as they like.
      broker.clock.advance(by: .seconds(1))
      await #expect(throws: RPCError.self) { try await broker.exchange(broker.idToken(), capability: "money") }
      func all(_ request: GetLedgerRequest) async throws -> [LedgerEntry] {
        var (request, found) = (request, [LedgerEntry]())
        repeat {
          let page = try await broker.admin.getLedger(request, options: .timeout(.seconds(20)))
          #expect(page.entries.count <= max(1, Int(request.pageSize)) || request.pageSize == 0)
          found += page.entries
          request.pageToken = page.nextPageToken
        } while !request.pageToken.isEmpty
        return found
      }
      let ana = try await all(.init(subject: "ana", pageSize: 2))
      #expect(ana.map(\.outcome) == [.denied, .issued, .issued, .issued, .issued])
      #expect(ana.map(\.capability) == ["", "default", "default", "speech", "speech"])
      #expect(ana.map(\.id) == ana.map(\.id).sorted(by: >) && Set(ana.map(\.subjectHash)).count == 1)
      #expect(ana[0].reason == "UNKNOWN_CAPABILITY" && ana[0].expiresAt == nil && ana[1].expiresAt != nil)
      #expect(ana[3].account == "speech@p.iam.gserviceaccount.com" && ana[1].account == "")
      #expect(try await all(.init(subjectHash: ana[0].subjectHash)) == ana)
      let speech = try await all(.init(capability: "speech", pageSize: 1))
      #expect(speech.count == 4 && Set(speech.map(\.subjectHash)).count == 2)
      #expect(try await all(.init(subject: "bo", capability: "speech", pageSize: 500)).count == 2)
      #expect(try await all(.init(subject: "nobody")).isEmpty)
      for bad in [
        GetLedgerRequest(), .init(subject: "ana", subjectHash: ana[0].subjectHash), .init(subjectHash: "xyz"),
        .init(subject: "ana", pageSize: 501), .init(subject: "ana", pageSize: -1), .init(subject: "ana", pageToken: "?"),
      ] {
        let error = await #expect(throws: RPCError.self) {
          try await broker.admin.getLedger(bad, options: .timeout(.seconds(20)))
        }
        #expect(error?.code == .invalidArgument && error?.reason == "INVALID_REQUEST")
      }
    }
  }
}

extension BrokerFixture {
  /// What the next exchange is refused with; nil when it is not.
  func refusal(_ capability: String = "") async -> RPCError? {
    do throws(RPCError) {
      _ = try await exchange(idToken(), capability: capability)
      return nil
    } catch { return error }
  }
}
