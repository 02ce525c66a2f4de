import EventLoop
import GoogleProvider
import JOSE
import OpenID
import TestSupport
import Testing

@Suite("Key cache")
struct KeyCacheTests {
  @Test("B-09: a thousand callers on cold keys cause one fetch")
  func singleFlight() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let verdicts = await withTaskGroup(of: String.self) { tasks in
        for number in 0..<1000 {
          tasks.addTask(executorPreference: group.loops[number % 2]) {
            await fixture.verdict(FakeGoogle.token("user\(number % 10)"))
          }
        }
        return await tasks.reduce(into: [:]) { $0[$1, default: 0] += 1 }
      }
      #expect(verdicts == ["accepted": 1000])
      #expect(fixture.google.keyFetches == 1)
    }
  }

  @Test(
    "B-09: keys live as long as max-age minus Age says, from 60 s to 24 h",
    arguments: [
      ("public, max-age=3600", "600", 3000), ("max-age=1", "0", 60), ("max-age=3600", "3600", 60),
      ("max-age=99999999999999999999", "0", 86_400),
      ("no-store", "0", 60), ("max-age=oops", "0", 300),
    ])
  func lifetime(cacheControl: String, age: String, seconds: Int) async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      fixture.google.set { ($0.cacheControl, $0.age) = (cacheControl, age) }
      let verifyAgain = { () async -> Int in
        _ = await fixture.verdict(FakeGoogle.token(at: fixture.clock.wall.components.seconds))
        return fixture.google.keyFetches
      }
      #expect(await verifyAgain() == 1)
      fixture.clock.advance(by: .seconds(seconds) - .milliseconds(1))
      #expect(await verifyAgain() == 1)
      fixture.clock.advance(by: .milliseconds(1))
      #expect(await verifyAgain() == 2)
    }
  }

  @Test("B-09: an unknown kid causes one fetch, and no second within the cooldown however many kids are made up")
  func cooldown() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      #expect(await fixture.verdict(FakeGoogle.token()) == "accepted")
      fixture.google.set { $0.keys = [FakeGoogle.key, FakeGoogle.nextKey] }
      fixture.clock.advance(by: .milliseconds(1))
      #expect(await fixture.verdict(FakeGoogle.token(key: FakeGoogle.nextKey)) == "accepted")
      #expect(fixture.google.keyFetches == 2)
      for number in 0..<50 {
        fixture.clock.advance(by: .milliseconds(100))
        let stranger = try SigningKey(pem: FakeGoogle.impostor.privatePEM(), keyID: "made-up-\(number)")
        #expect(await fixture.verdict(FakeGoogle.token(key: stranger)) == "key_unknown")
      }
      #expect(fixture.google.keyFetches == 2)
      fixture.clock.advance(by: .seconds(30))
      #expect(await fixture.verdict(FakeGoogle.token("bo", key: FakeGoogle.impostor)) == "signature_invalid")
      #expect(fixture.google.keyFetches == 3)
    }
  }

  @Test("A withdrawn key takes the tokens along that were verified with it")
  func withdrawal() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let token = FakeGoogle.token()
      #expect(await fixture.verdict(token) == "accepted")
      fixture.google.set { $0.keys = [FakeGoogle.nextKey] }
      #expect(await fixture.verdict(token) == "accepted")
      fixture.clock.advance(by: .seconds(3600))
      #expect(await fixture.verdict(token) == "key_unknown")
    }
  }

  @Test("B-09: keys from before are used while their server is away, for 24 h and no longer")
  func staleOnError() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      let verdict = { () async -> String in await fixture.verdict(FakeGoogle.token(at: fixture.clock.wall.components.seconds)) }
      #expect(await verdict() == "accepted")
      fixture.google.set { $0.keySetFault = .status(503) }
      fixture.clock.advance(by: .seconds(86_399))
      #expect(await verdict() == "accepted")
      fixture.clock.advance(by: .seconds(1))
      #expect(await verdict() == "keys_unavailable")
      fixture.google.set { $0.keySetFault = .none }
      fixture.clock.advance(by: .seconds(30))
      #expect(await verdict() == "accepted")
    }
  }

  @Test("Without any keys the answer is that there are none, and the server is not asked for every token")
  func nothingCached() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      fixture.google.set { $0.keySetFault = .status(500) }
      for _ in 0..<20 { #expect(await fixture.verdict(FakeGoogle.token()) == "keys_unavailable") }
      #expect(fixture.google.keyFetches == 1)
      #expect(!fixture.keys.hasUsableKeys)
      fixture.google.set { $0.keySetFault = .none }
      fixture.clock.advance(by: .seconds(1))
      #expect(await fixture.verdict(FakeGoogle.token()) == "accepted")
      #expect(fixture.keys.hasUsableKeys)
    }
  }

  @Test("The discovery document leads to the keys, unless it is another issuer's")
  func discovery() async throws {
    try await withLoops { group in
      let url = "https://accounts.example/.well-known/openid-configuration"
      let fixture = GoogleFixture(group, source: .discovery(url: url, issuer: "https://accounts.google.com"))
      #expect(await fixture.verdict(FakeGoogle.token()) == "accepted")
      let other = GoogleFixture(group, source: .discovery(url: url, issuer: "https://other.example"))
      #expect(await other.verdict(FakeGoogle.token()) == "keys_unavailable")
    }
  }

  @Test("A caller who gives up while keys are fetched takes nothing from the others")
  func cancellation() async throws {
    try await withLoops { group in
      let fixture = GoogleFixture(group)
      fixture.google.set { $0.keySetFault = .hang }
      let first = Task { await fixture.verdict(FakeGoogle.token()) }
      try await fixture.google.hanging.wait()
      let second = Task { await fixture.verdict(FakeGoogle.token("bo")) }
      first.cancel()
      #expect(await first.value == "cancelled")
      fixture.google.release()
      #expect(await second.value == "accepted")
      #expect(fixture.google.keyFetches == 1)
    }
  }
}
