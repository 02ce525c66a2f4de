import AuthDomain
import JOSE
import JSON
import MessagesCore
import ParleyAPI
import PostgreSQL
import RPC
import TestSupport
import Testing
import Values
import WellKnown

@Suite("Account data: exports", .serialized)
struct ExportTests {
  @Test("An export has what all services keep of a person, nothing of others, and no secret")
  func whole() async throws {
    try await AccountDataWorld.running { service, world in
      let ana = try await service.signIn()
      let bo = try await service.signIn("bo", device: "bo's phone")
      let (user, access) = (ana.profile?.userID ?? "", ana.tokens?.accessToken ?? "")
      _ = try await service.exchange(service.idToken("ana"))
      _ = try await service.exchange(service.idToken("bo"))
      let large = [UInt8]((0..<700_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
      try world.holders[0].add(["a.txt": Array("hello".utf8), "b.bin": large, "c.txt": []], of: user)
      try world.holders[0].add(["d.txt": Array("bo's".utf8)], of: bo.profile?.userID ?? "")

      let start = service.now.seconds
      let export = try await service.export(access)
      #expect(export.state == .done && export.kind == .export && export.steps.allSatisfy { $0.isDone && $0.attempts == 1 })
      // A day from its end on; time passed until that was seen.
      let end = (export.expiresAt?.seconds ?? 0) - 86_400
      #expect((start...service.now.seconds).contains(end), "\(end)")
      let parts = try await service.download(export.id, access)
      let found = try documents(parts)
      #expect(Int64(found.values.map(\.count).reduce(0, +)) == export.totalBytes)
      #expect(found["notes/a.txt"] == Array("hello".utf8) && found["notes/b.bin"] == large && found["notes/c.txt"] == [])
      #expect(found["notes/d.txt"] == nil)
      #expect(parts.allSatisfy { $0.data.count <= 256 << 10 })
      #expect(export.counts("service.notes") == ["a.txt": "0/5", "b.bin": "0/700000", "c.txt": "0/0"])

      func rows(_ name: String) throws -> [JSONValue] {
        try (found["auth/\(name).jsonl"] ?? []).split(separator: UInt8(ascii: "\n")).map { try JSONParser.parse(Array($0)) }
      }
      #expect(try rows("accounts").map { $0["email"]?.string } == ["ana@example.org"])
      #expect(try rows("identities").count == 1)
      #expect(try rows("sessions").map { $0["device_name"]?.string } == ["phone"])
      #expect(
        try rows("activity").contains { $0["action"]?.string == "signed_in" && $0["client_address"]?.string == "192.0.2.1" })
      #expect(try rows("cloud_tokens").map { $0["outcome"]?.string } == ["issued"])
      let text = String(decoding: found.filter { $0.key.hasPrefix("auth/") }.values.flatMap(\.self), as: UTF8.self)
      for word in ["token_hash", "spent_", "bo@example.org", "bo's phone"] { #expect(!text.contains(word), "\(word)") }
    }
  }

  @Test(
    "An export has the ids, the posted events and the notes that are kept of a person, and nothing of whom they dealt with (AF-09)"
  )
  func held() async throws {
    try await AccountDataWorld.running([]) { service, world in
      let ana = try await service.signIn()
      let (user, access) = (ana.profile?.userID ?? "", ana.tokens?.accessToken ?? "")
      let other = try await service.signIn("bo").profile?.userID ?? ""
      let users = UserAdminService.Client(service.operators)
      for kind in ["suspend", "reinstate"] {
        if kind == "suspend" {
          _ = try await users.suspendUser(.init(userID: other, reason: "of bo"), options: .timeout(.seconds(30)))
        } else {
          _ = try await users.revokeUserSessions(
            .init(
              userID: user, sessionID: try await service.signIn(device: "tablet").tokens?.sessionID ?? "", reason: "lost tablet"),
            options: .timeout(.seconds(30)))
        }
      }
      _ = try await service.admin.setKillSwitch(
        .init(capability: "*", stopped: true, reason: "too much", subject: "ana"),
        options: .timeout(.seconds(30)))
      try await world.database.script(
        """
        insert into auth.entitlement (user_id, customer_id, checked_at) values ('\(user)', '$RCAnonymousID:1', now());
        insert into auth.customer_lookup (customer_id, user_id, cause, linked_at)
          values ('$RCAnonymousID:1', '\(user)', 'named', now()), ('$RCAnonymousID:2', '\(other)', 'named', now());
        insert into auth.webhook_event (event_id, type, occurred_at, received_at, customers, transferred_from, transferred_to, body)
          values
            ('e1', 'RENEWAL', now(), now(), '{$RCAnonymousID:1,\(user)}', '{}', '{}', '{"event":"as posted"}'),
            ('e2', 'TRANSFER', now(), now(), '{}', '{$RCAnonymousID:1}', '{$RCAnonymousID:2,\(other)}', '{"event":"of two"}'),
            ('e3', 'RENEWAL', now(), now(), '{$RCAnonymousID:2}', '{}', '{}', '{"event":"of bo"}');
        """)
      let export = try await service.export(access)
      #expect(export.state == .done)
      let found = try documents(try await service.download(export.id, access))
      func rows(_ name: String) throws -> [JSONValue] {
        try (found["auth/\(name).jsonl"] ?? []).split(separator: UInt8(ascii: "\n")).map { try JSONParser.parse(Array($0)) }
      }
      let purchases = try rows("purchases")
      #expect(purchases.map { $0["event_id"]?.string } == ["e1", "e2"])
      #expect(purchases.first?["body"]?.string == #"{"event":"as posted"}"#)
      #expect(purchases.first?["customers"]?.array?.compactMap(\.string) == ["$RCAnonymousID:1", user])
      #expect(purchases.last?["transferred_from"]?.array?.compactMap(\.string) == ["$RCAnonymousID:1"])
      #expect(purchases.last?["body"]?.isNull == true && purchases.last?["transferred_to"]?.array?.isEmpty == true)
      #expect(try rows("customers").map { $0["customer_id"]?.string } == ["$RCAnonymousID:1"])
      let operated = try rows("activity").filter { $0["actor"]?.string == ClientCertificates.operatorName }
      #expect(operated.contains { $0["note"]?.string == "lost tablet" })
      #expect(try rows("activity").contains { $0["actor"]?.string == "self" && $0["note"]?.string == "" })
      #expect(try rows("stops").map { $0["reason"]?.string } == ["too much"])
      let text = String(decoding: found.values.flatMap(\.self), as: UTF8.self)
      for word in [other, "$RCAnonymousID:2", "of bo", "of two"] { #expect(!text.contains(word), "\(word)") }
    }
  }

  @Test("A download goes on at any byte, and what goes on from there is what would have come")
  func resumed() async throws {
    try await AccountDataWorld.running { service, world in
      let ana = try await service.signIn()
      let access = ana.tokens?.accessToken ?? ""
      let note = SecureRandom.bytes(300_000)
      try world.holders[0].add(["a.bin": note, "b.txt": [], "c.txt": Array("end".utf8)], of: ana.profile?.userID ?? "")
      let export = try await service.export(access)
      let whole = try await service.download(export.id, access).flatMap { Array($0.data) }
      #expect(Int64(whole.count) == export.totalBytes)
      for offset in [0, 1, 17, whole.count - 300_003, whole.count - 40_000, whole.count - 3, whole.count - 1, whole.count] {
        let parts = try await service.download(export.id, access, from: Int64(offset))
        #expect(parts.flatMap { Array($0.data) } == Array(whole[offset...]), "from \(offset)")
        var place = Int64(offset)
        for part in parts {
          #expect(part.offset == place)
          place += Int64(part.data.count)
        }
      }
      for offset in [-1, Int64(whole.count) + 1, .max] {
        let refusal = await #expect(throws: RPCError.self) { try await service.download(export.id, access, from: offset) }
        #expect(refusal?.reason == "INVALID_ARGUMENT")
      }
    }
  }

  @Test("One export is made at a time, a key gets the same one again, and a new one takes the place of the last")
  func repeated() async throws {
    try await AccountDataWorld.with { world in
      try await world.auth { service in
        let access = try await service.signIn().tokens?.accessToken ?? ""
        // Its other service is down, so it is being made all the while.
        let first = try await service.startExport(access)
        let ids = try await withThrowingTaskGroup(of: String.self) { tasks in
          for index in 0..<3 { tasks.addTask { try await service.startExport(access, BrokerFixture.keys[index]).id } }
          return try await tasks.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(ids == [first.id])
        let refusal = await #expect(throws: RPCError.self) { try await service.download(first.id, access) }
        #expect(refusal?.code == .failedPrecondition && refusal?.reason == "EXPORT_NOT_AVAILABLE")
        try await eventually {
          let step = (try? await service.work(first.id, access))?.step("service.notes")
          return step?.failure == "unavailable" && (step?.attempts ?? 0) > 0
        }
        try await world.holders[0].up {
          service.clock.advance(by: .seconds(60))
          // The way to a service that was down is tried again after a while, and so is the export: time passes meanwhile.
          try await eventually(atMost: .seconds(30)) {
            service.clock.advance(by: .milliseconds(50))
            return (try? await service.work(first.id, access))?.state == .done
          }
          let done = try await service.work(first.id, access)
          #expect(done.step("service.auth")?.attempts == 1)
          service.clock.advance(by: .seconds(60))
          let second = try await service.export(access, BrokerFixture.keys[7])
          #expect(second.id != first.id && second.state == .done, "\(second)")
          let gone = await #expect(throws: RPCError.self) { try await service.work(first.id, access) }
          #expect(gone?.code == .notFound)
        }
      }
    }
  }

  @Test("Exports of others, malformed names and deletions' names are not there")
  func foreign() async throws {
    try await AccountDataWorld.running([]) { service, _ in
      let ana = try await service.signIn().tokens?.accessToken ?? ""
      let bo = try await service.signIn("bo").tokens?.accessToken ?? ""
      let export = try await service.export(ana)
      for (id, access) in [
        (export.id, bo), ("", ana), ("x", ana), (export.id + "0", ana), (String(export.id.dropLast()), ana),
        ("01234567-89ab-7def-8123-456789abcdef", ana),
      ] {
        let work = await ending { () async throws(RPCError) in try await service.work(id, access) }
        #expect(work == "NOT_FOUND ACCOUNT_WORK_NOT_FOUND", "\(id)")
        let download = await #expect(throws: RPCError.self) { try await service.download(id, access) }
        #expect(download?.reason == "ACCOUNT_WORK_NOT_FOUND")
      }
      for key in ["", "short", String(repeating: "k", count: 65), "a key with some blanks", "a key of 16 chars\u{e9}"] {
        let refused = await ending { () async throws(RPCError) in try await service.startExport(ana, key) }
        #expect(refused == "INVALID_ARGUMENT INVALID_ARGUMENT", "\(key)")
      }
      for key in [String(repeating: "k", count: 16), String(repeating: "k", count: 64)] {
        #expect(try await service.export(bo, key).state == .done)
      }
    }
  }

  @Test("An export that is too large is given up, and one that has run out is gone with all its bytes")
  func bounds() async throws {
    try await AccountDataWorld.running(
      ["notes"], ["PARLEY_AUTH_EXPORT_MAX_BYTES": "20000", "PARLEY_AUTH_SESSION_SWEEP_INTERVAL": "100ms"]
    ) { service, world in
      let ana = try await service.signIn()
      let (user, access) = (ana.profile?.userID ?? "", ana.tokens?.accessToken ?? "")
      try world.holders[0].add(["a.bin": [UInt8](repeating: 7, count: 20_001)], of: user)
      let failed = try await service.export(access)
      #expect(failed.state == .failed && failed.failure == "too_large")
      let refusal = await #expect(throws: RPCError.self) { try await service.download(failed.id, access) }
      #expect(refusal?.reason == "EXPORT_NOT_AVAILABLE")
      let bytes = try await world.database.value("select count(*)::int8 from auth.account_export_chunk", as: Int64.self)
      #expect(bytes == 0)

      try world.holders[0].add(["a.bin": [UInt8](repeating: 7, count: 10)], of: user)
      service.clock.advance(by: .seconds(60))
      let export = try await service.export(access, BrokerFixture.keys[1])
      #expect(export.state == .done)
      _ = try await service.download(export.id, access)
      // Once it was downloaded to its end it stays for an hour, not for a day.
      #expect(try await service.work(export.id, access).expiresAt?.seconds == service.now.seconds + 3600)
      service.clock.advance(by: .seconds(3601))
      let later = try await service.signIn().tokens?.accessToken ?? ""
      try await eventually {
        await ending { () async throws(RPCError) in try await service.work(export.id, later) }
          == "NOT_FOUND ACCOUNT_WORK_NOT_FOUND"
      }
      let rest = try await world.database.value("select count(*)::int8 from auth.account_export_chunk", as: Int64.self)
      #expect(rest == 0)
    }
  }
}
