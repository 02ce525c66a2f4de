import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import TestSupport
import Testing

@Suite("The limit of addresses before anything is judged")
struct AddressLimitTests {
  private static let settings = [
    "PARLEY_AUTH_ADDRESS_LIMIT_BURST": "5", "PARLEY_AUTH_ADDRESS_LIMIT_PER_MIN": "1",
    "PARLEY_AUTH_RATE_LIMITS": "account=1000000/1000000",
  ]

  @Test(
    "Rubbish from one address is not judged for ever: neither at the first app's paths, nor at webhooks, nor in calls (AF-14)")
  func flood() async throws {
    try await PaidWorld.with(Self.settings) { world in
      let service = world.service
      let doors: [(HTTPMethod, String)] = [
        (.put, "/api/settings/subscription-status"), (.put, "/api/settings/revenuecat-customer-id"),
        (.post, "/webhooks/revenuecat"),
        (.get, "/nowhere"),
      ]
      for (number, (method, path)) in doors.enumerated() {
        let headers: HTTPHeaders = ["X-Forwarded-For": "198.51.100.\(number)", "Authorization": "Bearer rubbish"]
        var statuses: [Int] = []
        for _ in 0..<7 { statuses.append(try await service.get(path, method: method, headers: headers, body: "{}").status) }
        #expect(statuses.prefix(5).allSatisfy { [400, 401, 404].contains($0) }, "\(path) \(statuses)")
        #expect(statuses.suffix(2) == [429, 429], "\(path) \(statuses)")
        let refused = try await service.get(path, method: method, headers: headers, body: "{}")
        #expect(refused.headers["retry-after"] == "60" && refused.text?.contains(#""code":"RATE_LIMITED_IP""#) == true)
        #expect(refused.headers["ratelimit-limit"] == "5" && refused.headers["ratelimit-remaining"] == "0")
      }
      let rubbish = service.from("198.51.100.9", "rubbish")
      var endings: [String] = []
      for _ in 0..<6 {
        endings.append(await ending { () async throws(RPCError) in try await service.auth.getProfile(options: rubbish) })
      }
      #expect(
        endings == [String](repeating: "UNAUTHENTICATED INVALID_ACCESS_TOKEN", count: 5) + ["RESOURCE_EXHAUSTED RATE_LIMITED_IP"])
      let buckets: [String] = try await world.database.values("select key from auth.rate_limit where key like '%198.51.100.%'")
      #expect(buckets.isEmpty, "the database has nothing to do with it")
    }
  }

  @Test("Whoever has a good token is judged once, and then calls as often as the other limits let them (AF-14)")
  func goodToken() async throws {
    try await SignInTests.with(Self.settings.merging(["PARLEY_AUTH_LOOPS": "1"]) { $1 }) { service, _ in
      let access = try await service.signIn().tokens?.accessToken ?? ""
      for _ in 0..<50 { _ = try await service.auth.getProfile(options: service.from("198.51.100.1", access)) }
      // Others at the same address still have the rest of its bucket, and at another one all of it.
      for address in ["198.51.100.1", "198.51.100.2"] {
        #expect(
          await ending { () async throws(RPCError) in try await service.auth.getProfile(options: service.from(address, "rubbish"))
          }
            == "UNAUTHENTICATED INVALID_ACCESS_TOKEN")
      }
      // A certificate is not judged here.
      for _ in 0..<10 {
        #expect(
          await ending { () async throws(RPCError) in
            try await service.admin.getKillSwitches(options: service.from("198.51.100.3"))
          }
            == "OK")
      }
    }
  }
}
