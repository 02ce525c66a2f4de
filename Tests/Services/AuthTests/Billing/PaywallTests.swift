import JSON
import Outbound
import ParleyAPI
import RPC
import TestSupport
import Testing

@Suite("Behind the paywall, in a second service", .serialized)
struct PaywallTests {
  @Test("B-49: whoever has not paid is refused over gRPC, HTTP and Connect alike, with what leads to the paywall")
  func refused() async throws {
    try await PaidWorld.with { world in
      let (_, tokens) = try await world.signIn("ana")
      try await eventually { await world.read(tokens).ending == "FAILED_PRECONDITION SUBSCRIPTION_REQUIRED" }
      let error = try #require(await world.read(tokens).error)
      let hints = ["requiresSubscription": "true", "redirectToPaywall": "true"]
      #expect(
        error.details == [.errorInfo(reason: "SUBSCRIPTION_REQUIRED", domain: "parley.billing.v1", metadata: hints)])
      let plain = try await world.get(tokens)
      #expect(plain.status == 402)
      #expect(
        try JSONParser.parse(plain.body) == [
          "success": false, "error": "subscription required", "code": "SUBSCRIPTION_REQUIRED", "requiresSubscription": true,
          "redirectToPaywall": true,
        ])
      // Connect has a status of its own for the code; its clients go by the body.
      let connect = try await world.connect(tokens)
      let body = try JSONParser.parse(connect.body)
      let details = body["details"]?.array ?? []
      #expect(connect.status == 400 && body["code"] == "failed_precondition" && body["message"] == "subscription required")
      #expect(details.contains { $0["type"] == "google.rpc.ErrorInfo" && $0["debug"]?["reason"] == "SUBSCRIPTION_REQUIRED" })
    }
  }

  @Test("B-48, B-49: whoever has no session is asked to sign in, not to pay")
  func strangers() async throws {
    try await PaidWorld.with { world in
      #expect(await world.read(nil).ending == "UNAUTHENTICATED MISSING_AUTHORIZATION")
      let plain = try await world.get(nil)
      #expect(plain.status == 401 && plain.headers["www-authenticate"] == "Bearer")
      #expect(try await world.connect(nil).status == 401)
      #expect(world.revenueCat.asked.isEmpty)
    }
  }

  @Test("B-49: whoever pays gets in over all three, and that is remembered; when nobody can say, nobody gets in")
  func paid() async throws {
    try await PaidWorld.with { world in
      let (user, tokens) = try await world.signIn("ana")
      world.purchase(as: [user])
      try await eventually { await world.read(tokens).ending == "OK" }
      let plain = try await world.get(tokens)
      #expect(plain.status == 200 && plain.text == user)
      #expect(try await world.connect(tokens).text == #"{"caller":"\#(user)"}"#)
      let asked = world.revenueCat.asked.count
      #expect(asked == 1)
      let (_, other) = try await world.signIn("ben")
      world.revenueCat.fail(.status(401, "{}"))
      try await eventually { await world.read(other).ending == "UNAVAILABLE ENTITLEMENT_UNAVAILABLE" }
      #expect(try await world.get(other).status == 500)
      #expect(try await world.connect(other).status == 503)
      // Who is known to have paid does not notice.
      #expect(await world.read(tokens).ending == "OK")
    }
  }
}
