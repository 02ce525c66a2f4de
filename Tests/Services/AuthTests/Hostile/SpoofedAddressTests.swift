import Outbound
import Testing

@Suite("Spoofed addresses")
struct SpoofedAddressTests {
  @Test("AUTH-M7, B-17: a client that makes up a new X-Forwarded-For for each request is limited by its own address")
  func untrustedPeer() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, settings: ["PARLEY_AUTH_TRUSTED_PROXIES": "", "PARLEY_AUTH_IP_BURST": "5"]) {
        broker in
        for number in 0..<5 {
          #expect(try await broker.get("/token", headers: ["X-Forwarded-For": "203.0.113.\(number)"]).status == 401)
        }
        let refused = try await broker.get("/token", token: broker.idToken(), headers: ["X-Forwarded-For": "198.51.100.77"])
        #expect(refused.status == 429 && refused.text == "rate limit (ip)")
      }
    }
  }

  @Test("AUTH-M7, B-17: behind a trusted proxy what the client writes to the left of its own address counts for nothing")
  func leftmostEntry() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, settings: ["PARLEY_AUTH_IP_BURST": "5"]) { broker in
        for number in 0..<5 {
          let forged = "203.0.113.\(number), 127.0.0.1, 192.0.2.9"
          #expect(try await broker.get("/token", headers: ["X-Forwarded-For": "\(forged)"]).status == 401)
        }
        let refused = try await broker.get(
          "/token", token: broker.idToken(), headers: ["X-Forwarded-For": "127.0.0.1, 192.0.2.9"])
        #expect(refused.status == 429)
        #expect(
          try await broker.get("/token", token: broker.idToken(), headers: ["X-Forwarded-For": "192.0.2.9, 192.0.2.10"]).status
            == 200)
      }
    }
  }
}
