import EventLoop
import JSON
import Testing

@Suite("Key outages")
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
}
