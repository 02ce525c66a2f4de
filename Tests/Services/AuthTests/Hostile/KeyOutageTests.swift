import EventLoop
import JSON
import Outbound
import ParleyAPI
import RPC
import ServiceKit
import TestSupport
import Testing

@Suite("Key outages", .serialized)
struct KeyOutageTests {
  @Test(
    "AUTH-S5: keys down for an hour: people sign in on with the keys from before, and the alarm metrics rise until they are back")
  func hourWithoutKeys() async throws {
    try await withLoops(1) { group in
      let fixture = AppleFixture(group)
      fixture.apple.set { $0.keyLifetime = 300 }
      let signIn = { (name: String) async -> String in
        await fixture.verdict(FakeApple.token(at: fixture.clock.wall.components.seconds, changes: [("sub", .string(name))]))
      }
      let number = { (name: String) -> Int? in fixture.metric(name).flatMap { Int($0) } }
      let overdue = #"parley_provider_overdue_keys_used_total{keys="apple"}"#
      let seconds = #"parley_provider_keys_overdue_seconds{keys="apple"}"#
      let failed = #"parley_provider_key_fetches_total{keys="apple",outcome="failed"}"#
      #expect(await signIn("first") == "accepted")
      #expect((number(overdue), number(seconds), number(failed)) == (0, 0, 0))

      fixture.apple.set { $0.keyStatus = 503 }
      fixture.clock.advance(by: .seconds(300))
      for minute in 0..<60 {
        #expect(await signIn("minute-\(minute)") == "accepted")
        #expect(number(overdue) == minute + 1)
        #expect(number(seconds) == minute * 60)
        fixture.clock.advance(by: .seconds(60))
      }
      // One attempt a minute here; however many sign in, there is never more than one per cooldown of 30 s.
      #expect(number(failed) == 60)
      for person in 0..<50 { #expect(await signIn("person-\(person)") == "accepted") }
      #expect(number(failed) == 61 && number(overdue) == 110)
      #expect(fixture.log.all.contains { $0.contains("keys not fetched") && $0.contains("in_use=the keys from before") })

      fixture.apple.set { $0.keyStatus = 200 }
      fixture.clock.advance(by: .seconds(30))
      #expect(await signIn("last") == "accepted")
      #expect((number(overdue), number(seconds)) == (110, 0))
    }
  }

  @Test("AUTH-S5: through the service: keys down for an hour, people sign in on, and what is scraped rises until they are back")
  func hourThroughTheService() async throws {
    let settings = [
      "PARLEY_AUTH_ADMIN_LISTEN": "127.0.0.1:0", "PARLEY_AUTH_SIGN_IN_BURST": "100000", "PARLEY_AUTH_SIGN_IN_PER_MIN": "100000",
    ]
    let google = FakeGoogle()
    google.set { $0.cacheControl = "public, max-age=300" }
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, google: google, settings: settings, agesByClock: true) { service in
        let page = "http://\(try #require(service.instance.addresses.admin))/metrics"
        @Sendable func scraped(_ name: String) async throws -> Double {
          let response = try await service.http.send(HTTPRequest(.get, page))
          let line = (response.text ?? "").split(separator: "\n").first { $0.hasPrefix(name) }
          return try #require(line.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }, "\(name)")
        }
        let overdue = #"parley_provider_overdue_keys_used_total{keys="google"}"#
        let seconds = #"parley_provider_keys_overdue_seconds{keys="google"}"#
        let failed = #"parley_provider_key_fetches_total{keys="google",outcome="failed"}"#
        _ = try await service.signIn("before")
        #expect(try await [scraped(overdue), scraped(seconds), scraped(failed)] == [0, 0, 0])

        google.set { $0.keySetFault = .status(503) }
        service.clock.advance(by: .seconds(300))
        var before = (overdue: 0.0, failed: 0.0)
        for minute in 0...60 {
          let answer = try await service.signIn("minute-\(minute)")
          #expect(answer.isNewAccount, "minute \(minute)")
          let now = try await (overdue: scraped(overdue), failed: scraped(failed))
          #expect(now.overdue > before.overdue && now.failed > before.failed, "minute \(minute): \(before), then \(now)")
          #expect(try await scraped(seconds) == Double(minute * 60))
          before = now
          service.clock.advance(by: .seconds(60))
        }
        // So many failures have opened the circuit breaker, which is closed by the machine's own clock.
        google.set { $0.keySetFault = .none }
        try await eventually(atMost: .seconds(90)) {
          service.clock.advance(by: .seconds(5))
          guard (try? await service.signIn("after")) != nil else { return false }
          let overdueSeconds = try? await scraped(seconds)
          return overdueSeconds == 0
        }
        let settled = try await scraped(overdue)
        #expect(try await service.signIn("last").isNewAccount)
        #expect(try await scraped(overdue) == settled)
      }
    }
  }

  @Test("Keys that stay away longer than the setting allows let nobody in, and say that it is not the person's fault")
  func tooLong() async throws {
    let google = FakeGoogle()
    google.set { $0.cacheControl = "public, max-age=300" }
    try await BrokerDatabase.with { database in
      let settings = ["PARLEY_AUTH_JWKS_MAX_AGE": "1h"]
      try await BrokerFixture.with(database, google: google, settings: settings, agesByClock: true) { service in
        _ = try await service.signIn("before")
        google.set { $0.keySetFault = .status(503) }
        service.clock.advance(by: .seconds(3599))
        #expect(await ending { () async throws(RPCError) in try await service.signIn("in time") } == "OK")
        service.clock.advance(by: .seconds(60))
        let late = await ending { () async throws(RPCError) in try await service.signIn("late") }
        #expect(late.hasPrefix("UNAVAILABLE "), "\(late)")
      }
    }
  }
}
