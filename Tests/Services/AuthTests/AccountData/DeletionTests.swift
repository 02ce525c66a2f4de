import AuthDomain
import EventLoop
import MessagesCore
import ParleyAPI
import PostgreSQL
import RPC
import Synchronization
import TestSupport
import Testing
import Values

@Suite("Account data: deletion", .serialized)
struct DeletionTests {
  private static func profile(_ service: BrokerFixture, _ access: String) async -> String {
    await ending { () async throws(RPCError) in try await service.auth.getProfile(options: service.from("192.0.2.1", access)) }
  }

  @Test("AUTH-M9: a deletion ends all sessions at once, and then takes away what every service keeps, with a report")
  func whole() async throws {
    try await AccountDataWorld.running(["notes", "calls"]) { service, world in
      let ana = try await service.signIn()
      let bo = try await service.signIn("bo")
      let (user, access) = (ana.profile?.userID ?? "", ana.tokens?.accessToken ?? "")
      let tablet = try #require(try await service.signIn(device: "tablet").tokens)
      for person in ["ana", "bo"] { _ = try await service.exchange(service.idToken(person)) }
      let (notes, calls) = (world.holders[0], world.holders[1])
      try notes.add(["a": [1], "b": [2], "c": [3]], of: user)
      try notes.add(["a": [1]], of: bo.profile?.userID ?? "")
      try calls.add(["x": [1]], of: user)
      _ = try await service.export(access)
      // One of them fails in the middle of its part, until it does not.
      try notes.set("stuck", true)

      let answer = try await service.deleteAccount(access)
      #expect(answer.receipt.hasPrefix("prd1_") && answer.receipt.utf8.count == 48)
      try await eventually { await Self.profile(service, access) == "UNAUTHENTICATED ACCOUNT_DELETED" }
      try await eventually { await Self.profile(service, tablet.accessToken) == "UNAUTHENTICATED ACCOUNT_DELETED" }
      let refreshed = await ending { () async throws(RPCError) in try await service.refresh(tablet.refreshToken) }
      #expect(refreshed == "UNAUTHENTICATED ACCOUNT_DELETED")
      service.clock.advance(by: .seconds(1))
      let signedIn = await ending { () async throws(RPCError) in try await service.signIn() }
      #expect(signedIn == "FAILED_PRECONDITION ACCOUNT_DELETING")
      try await eventually {
        service.clock.advance(by: .milliseconds(100))
        let report = try? await service.report(answer.receipt)
        return report?.step("service.calls")?.isDone == true && report?.step("service.notes")?.failure == "unavailable"
      }
      let running = try await service.report(answer.receipt, from: "192.0.2.78")
      #expect(running.state == .running && running.step("service.auth")?.isDone == false)
      #expect(running.step("service.auth")?.attempts == 0)
      try notes.set("stuck", false)

      let report = try await service.deleted(answer.receipt)
      #expect(report.state == .done && report.doneAt != nil && report.steps.allSatisfy { $0.isDone && $0.failure.isEmpty })
      #expect(report.steps.map(\.name) == ["service.notes", "service.calls", "service.auth"])
      #expect(report.counts("service.notes") == ["notes": "3/0"] && report.counts("service.calls") == ["notes": "1/0"])
      #expect((report.step("service.notes")?.attempts ?? 0) >= 2 && report.step("service.calls")?.attempts == 1)
      let own = report.counts("service.auth")
      #expect(own["accounts"] == "1/0" && own["identities"] == "1/0" && own["exports"] == "1/0")
      #expect(own["sessions"] == "0/2" && own["cloud_tokens"] == "0/1" && own["deletions"] == "0/1")
      #expect(report.step("service.auth")?.counts.allSatisfy { ($0.held == 0) == $0.whyHeld.isEmpty } == true)
      #expect(notes.has("a", of: bo.profile?.userID ?? "") && !notes.has("a", of: user))

      // Who signs in now is somebody new; the other person has noticed nothing.
      service.clock.advance(by: .seconds(1))
      let again = try await service.signIn()
      #expect(again.isNewAccount && again.profile?.userID != user)
      let next = try await service.refresh(bo.tokens?.refreshToken ?? "")
      #expect(await Self.profile(service, next.accessToken) == "OK")
      let stillTold = await ending { () async throws(RPCError) in try await service.refresh(tablet.refreshToken) }
      #expect(stillTold == "UNAUTHENTICATED ACCOUNT_DELETED")
    }
  }

  @Test("AUTH-M9: what stays has nothing that says who it was or from where, and no other person's rows are touched")
  func remains() async throws {
    try await AccountDataWorld.running([]) { service, world in
      let ana = try await service.signIn()
      _ = try await service.signIn("bo", from: "203.0.113.5")
      for person in ["ana", "bo"] { _ = try await service.exchange(service.idToken(person), from: "203.0.113.5") }
      let user = try #require(UUID(ana.profile?.userID ?? ""))
      try await world.database.script(
        """
        insert into auth.entitlement (user_id, checked_at) values ('\(user)', now());
        insert into auth.customer_lookup (customer_id, user_id, cause, linked_at)
          values ('$RCAnonymousID:1', '\(user)', 'named', now());
        insert into auth.webhook_event (event_id, type, is_sandbox, occurred_at, received_at, customers, transferred_from,
            transferred_to, product_id, entitlements, period, reason, body)
          values ('e1', 'RENEWAL', false, now(), now(), '{$RCAnonymousID:1}', '{}', '{}', 'pro', '{}', 'NORMAL', '', 'ana@'),
            ('e2', 'RENEWAL', false, now(), now(), '{somebody-else}', '{}', '{}', 'pro', '{}', 'NORMAL', '', 'bo@');
        """)
      let receipt = try await service.deleteAccount(ana.tokens?.accessToken ?? "").receipt
      let report = try await service.deleted(receipt)
      #expect(report.counts("service.auth")["customers"] == "1/0" && report.counts("service.auth")["purchases"] == "0/1")
      #expect(report.counts("service.auth")["entitlements"] == "1/0")

      func count(_ query: Query) async throws -> Int64? { try await world.database.value(query) }
      #expect(try await count("select count(*) from auth.account where user_id = \(user)") == 0)
      #expect(try await count("select count(*) from auth.identity_lookup where user_id = \(user)") == 0)
      #expect(try await count("select count(*) from auth.customer_lookup where user_id = \(user)") == 0)
      #expect(
        try await count(
          """
          select count(*) from auth.session where user_id = \(user)
            and (device_name, platform, app_version, last_address) <> ('', '', '', '')
          """) == 0)
      #expect(
        try await count(
          "select count(*) from auth.activity where user_id = \(user) and (client_address <> '' or request_id <> '')") == 0)
      #expect(try await count("select count(*) from auth.activity where user_id = \(user)") ?? 0 >= 3)
      #expect(try await count("select count(*) from auth.activity where user_id <> \(user) and client_address = ''") == 0)
      #expect(try await count("select count(*) from auth.token_issuance where client_address = ''") == 1)
      #expect(try await count("select count(*) from auth.token_issuance where client_address = '203.0.113.5'") == 1)
      let bodies: [String] = try await world.database.values(
        "select convert_from(body, 'UTF8') from auth.webhook_event order by event_id")
      #expect(bodies == ["", "bo@"])
      // Of the two accounts the other one is there.
      #expect(
        try await count(
          """
          select count(*) from auth.account where email like 'ana@%'
          """) == 0)
    }
  }

  @Test("AUTH-M9: a service that is down, and a stop in the middle: what is done stays done, and the rest is done later")
  func stopped() async throws {
    try await AccountDataWorld.with(["notes", "calls"]) { world in
      let (notes, calls) = (world.holders[0], world.holders[1])
      let clock = VirtualClock()
      let asked = Mutex<(receipt: String, notes: AccountWorkStep)?>(nil)
      try await notes.up {
        try await world.auth(clock: clock) { service in
          let ana = try await service.signIn()
          let user = ana.profile?.userID ?? ""
          for holder in world.holders { try holder.add(["a": [1], "b": [2]], of: user) }
          let answer = try await service.deleteAccount(ana.tokens?.accessToken ?? "")
          try await eventually {
            // Time goes on: who asks again and again has to wait, and what failed is tried again.
            clock.advance(by: .seconds(2))
            let work = try? await service.report(answer.receipt)
            return work?.step("service.notes")?.isDone == true && work?.step("service.calls")?.failure == "unavailable"
          }
          let work = try await service.report(answer.receipt)
          #expect(work.state == .running && calls.has("a", of: user) && !notes.has("a", of: user))
          let step = try #require(work.step("service.notes"))
          asked.withLock { $0 = (answer.receipt, step) }
        }
      }
      let (secret, done) = try #require(asked.withLock { $0 })
      // What was asked once is not asked again: this one is down from now on.
      try await calls.up {
        try await world.auth(clock: clock) { service in
          let work = try await service.deleted(secret)
          #expect(work.state == .done && work.step("service.notes") == done)
          #expect(work.counts("service.notes") == ["notes": "2/0"] && work.counts("service.calls") == ["notes": "2/0"])
        }
      }
    }
  }

  @Test("AUTH-M9: a service that says it has deleted everything and still counts something is not believed")
  func liar() async throws {
    try await AccountDataWorld.running { service, world in
      let ana = try await service.signIn()
      let notes = world.holders[0]
      try notes.add(["a": [1], "b": [2]], of: ana.profile?.userID ?? "")
      try notes.set("liar", true)
      let receipt = try await service.deleteAccount(ana.tokens?.accessToken ?? "").receipt
      try await eventually {
        service.clock.advance(by: .seconds(2))
        return (try? await service.report(receipt))?.step("service.notes")?.failure == "still_held"
      }
      try notes.set("liar", false)
      let report = try await service.deleted(receipt)
      #expect(report.counts("service.notes") == ["notes": "2/0"])
    }
  }

  @Test("Any number of deletions at once are one, with one receipt")
  func concurrent() async throws {
    try await AccountDataWorld.running { service, world in
      try world.holders[0].set("stuck", true)
      let ana = try await service.signIn()
      try world.holders[0].add(["a": [1]], of: ana.profile?.userID ?? "")
      let access = ana.tokens?.accessToken ?? ""
      let answers = await withTaskGroup(of: String.self) { tasks in
        for index in 0..<20 {
          tasks.addTask {
            do throws(RPCError) {
              return try await service.deleteAccount(access, BrokerFixture.keys[index % 2]).receipt
            } catch { return "\(error.code.name) \(error.reason ?? "")" }
          }
        }
        return await tasks.reduce(into: Set<String>()) { $0.insert($1) }
      }
      // Whoever comes when the session's end is known already is told so.
      let receipts = answers.filter { $0.hasPrefix("prd1_") }
      #expect(receipts.count == 1)
      #expect(answers.subtracting(receipts).isSubset(of: ["UNAUTHENTICATED ACCOUNT_DELETED"]))
      let works = try await world.database.value("select count(*)::int8 from auth.account_work", as: Int64.self)
      #expect(works == 1)
    }
  }

  @Test("A deletion while sessions are refreshed and begun leaves none alive")
  func whileRefreshing() async throws {
    try await AccountDataWorld.running(
      ["notes"], ["PARLEY_AUTH_REFRESH_BURST": "1000", "PARLEY_AUTH_REFRESH_IP_BURST": "1000"]
    ) { service, world in
      try world.holders[0].set("stuck", true)
      let ana = try await service.signIn()
      try world.holders[0].add(["a": [1]], of: ana.profile?.userID ?? "")
      var devices: [SessionTokens] = []
      for index in 0..<4 { devices.append(try #require(try await service.signIn(device: "d\(index)").tokens)) }
      let endings = await withTaskGroup(of: Set<String>.self) { tasks in
        for device in devices {
          tasks.addTask {
            var (endings, token) = (Set<String>(), device.refreshToken)
            for attempt in 0..<20 {
              do throws(RPCError) {
                token = try await service.refresh(token, attempt: "an attempt, number \(attempt)").refreshToken
              } catch { endings.insert("\(error.code.name) \(error.reason ?? "")") }
            }
            return endings
          }
        }
        for index in 0..<6 {
          tasks.addTask {
            let result = await ending { () async throws(RPCError) in try await service.signIn(device: "late \(index)") }
            return result == "OK" ? [] : [result]
          }
        }
        tasks.addTask {
          let result = await ending { () async throws(RPCError) in
            try await service.deleteAccount(ana.tokens?.accessToken ?? "")
          }
          return result == "OK" ? [] : [result]
        }
        return await tasks.reduce(into: Set<String>()) { $0.formUnion($1) }
      }
      // Two sign-ins of one second show one token: that is the fixture's, and no matter here.
      let expected: Set = [
        "UNAUTHENTICATED ACCOUNT_DELETED", "FAILED_PRECONDITION ACCOUNT_DELETING", "UNAUTHENTICATED ID_TOKEN_REPLAYED",
      ]
      #expect(endings.isSubset(of: expected), "\(endings)")
      let alive = try await world.database.value(
        "select count(*)::int8 from auth.session where ended_at is null", as: Int64.self)
      #expect(alive == 0)
      for device in devices {
        let result = await ending { () async throws(RPCError) in try await service.refresh(device.refreshToken, attempt: "") }
        #expect(result == "UNAUTHENTICATED ACCOUNT_DELETED")
      }
    }
  }

  @Test("A receipt serves whole or not at all, and questions with one are limited")
  func receipts() async throws {
    try await AccountDataWorld.running([]) { service, _ in
      let receipt = try await service.deleteAccount(try await service.signIn().tokens?.accessToken ?? "").receipt
      #expect(try await service.deleted(receipt).state == .done)
      var count = 0
      func ask(_ text: String) async -> String {
        count += 1
        return await ending { () async throws(RPCError) in
          try await service.report(text, from: "203.0.113.\(count % 250)")
        }
      }
      for length in 0..<receipt.utf8.count {
        #expect(await ask(String(receipt.prefix(length))) == "NOT_FOUND RECEIPT_UNKNOWN", "\(length)")
      }
      for text in [receipt + "A", "prt1_" + receipt.dropFirst(5), receipt.uppercased(), " " + receipt] {
        #expect(await ask(text) == "NOT_FOUND RECEIPT_UNKNOWN")
      }
      let changed = receipt.dropLast() + (receipt.hasSuffix("A") ? "Q" : "A")
      #expect(await ask(String(changed)) == "NOT_FOUND RECEIPT_UNKNOWN")
      #expect(await ask(receipt) == "OK")
      var endings: [String] = []
      for _ in 0..<31 {
        endings.append(await ending { () async throws(RPCError) in try await service.report(receipt, from: "192.0.2.200") })
      }
      #expect(endings == [String](repeating: "OK", count: 30) + ["RESOURCE_EXHAUSTED RATE_LIMITED_IP"])
    }
  }
}
