import ParleyAPI
import RPC
import TestSupport
import Testing

@Suite("What other services may ask", .serialized)
struct ServiceAccessTests {
  @Test("No service exports, counts or deletes anybody's account by asking auth, whatever certificate it has (AF-05)")
  func accountData() async throws {
    try await SignInTests.with(["PARLEY_AUTH_TLS_ADMIN_IDENTITIES": "spiffe://parley/operator,spiffe://parley/notes"]) {
      service, _ in
      let user = try await service.signIn().profile?.userID ?? ""
      for channel in [service.services, service.operators] {
        let client = AccountDataService.Client(channel)
        var export = "OK"
        do {
          _ = try await client.export(.init(userID: user), options: .timeout(.seconds(30))) { stream in
            var stream = stream
            var bytes = 0
            while let part = try await stream.next() { bytes += part.data.count }
            return bytes
          }
        } catch let error as RPCError { export = error.code.name }
        let report = await ending { () async throws(RPCError) in
          try await client.report(.init(userID: user), options: .timeout(.seconds(30)))
        }
        let deletion = await ending { () async throws(RPCError) in
          try await client.delete(.init(userID: user, workID: user), options: .timeout(.seconds(30)))
        }
        #expect([export, report, deletion].allSatisfy { $0.hasPrefix("UNIMPLEMENTED") }, "\([export, report, deletion])")
      }
    }
  }

  @Test("A certificate that is named for one RPC service opens no other (AF-05)")
  func named() async throws {
    let settings = [
      "PARLEY_AUTH_REVENUECAT_API_KEY": "sk_test", "PARLEY_AUTH_REVENUECAT_URL": "https://127.0.0.1:1",
      "PARLEY_AUTH_TLS_CLIENT_IDENTITIES":
        "SessionDirectoryService=spiffe://parley/notes,EntitlementDirectoryService=spiffe://parley/other",
    ]
    try await SignInTests.with(settings) { service, _ in
      let user = try await service.signIn().profile?.userID ?? ""
      let sessions = await ending { () async throws(RPCError) in
        try await SessionDirectoryService.Client(service.services).checkSessions(options: .timeout(.seconds(30)))
      }
      let entitlement = await ending { () async throws(RPCError) in
        try await EntitlementDirectoryService.Client(service.services).checkEntitlement(
          .init(userID: user), options: .timeout(.seconds(30)))
      }
      #expect(sessions == "OK" && entitlement == "PERMISSION_DENIED CLIENT_IDENTITY_REFUSED")
    }
  }
}
