import AuthAPI
import JSON
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import ServiceKit
import TestParley
import TestSupport
import Testing
import Values

@Suite("Texts with U+0000 in requests")
struct UnstorableTextTests {
  /// Long enough for keys, and otherwise what any of them may be.
  private static let text = "0123456789abcdef\u{0}"

  /// Limits that nobody here is to meet.
  static let unlimited = ServiceTrio.settings.merging([
    "PARLEY_AUTH_RATE_LIMITS": "account=1000000/1000000", "PARLEY_AUTH_ENTITLEMENT_SYNC_BURST": "1000000",
    "PARLEY_AUTH_IP_BURST": "1000000", "PARLEY_AUTH_RATE_BURST": "1000000",
  ]) { $1 }

  @Test(
    "No text of any request is INTERNAL for a U+0000 in it: what reaches a statement is INVALID_ARGUMENT with a reason (BB-03)")
  func walk() async throws {
    try await PaidWorld.with(Self.unlimited) { world in
      let service = world.service
      let ana = try await service.signIn()
      let nonce = try await service.nonce()
      let (user, session) = (ana.profile?.userID ?? "", ana.tokens?.sessionID ?? "")
      let (access, refresh) = (ana.tokens?.accessToken ?? "", ana.tokens?.refreshToken ?? "")
      let idToken = service.googleToken(nonce: nonce.providerNonce)
      let walk = RequestWalk(putting: Self.text) { method, field in
        switch (method.name, field) {
        case ("GetUser", "user_id"), ("GetLedger", "subject"), ("PurgeJobs", "ids"), (_, "page_token"): nil
        case ("GetUser", "provider"), ("PurgeJobs", "all_dead"), ("BeginSignIn", "provider"), ("Reauthenticate", "provider"): "1"
        case (_, "user_id"): user
        case (_, "session_id"), (_, "session_ids"): session
        case (_, "id"), (_, "ids"), (_, "work_id"): UUID.v7().description
        case (_, "nonce"): nonce.nonce
        case (_, "id_token"), (_, "identity_token"): idToken
        case (_, "refresh_token"): refresh
        case (_, "idempotency_key"), (_, "attempt"): "0123456789abcdef"
        case ("SetKillSwitch", "capability"): "*"
        case (_, "subject"), (_, "profile.name"): "ana"
        case (_, "subject_hash"): nil
        case (_, "update_mask.paths"): "name"
        case (_, "update_mask"), (_, "profile"), (_, "device"): ""
        case (_, "reason"), (_, "queue"), (_, "kind"), (_, "capability"): "any"
        default: nil
        }
      }
      var endings: [String: String] = [:]
      for method in AuthService.services.flatMap(\.methods) {
        for step in walk.steps(of: method) {
          let (channel, options) =
            switch method.access {
            case .admin: (service.operators, service.from())
            case .service: (service.services, service.from())
            case .googleIDToken: (service.channel, service.options(service.idToken()))
            default: (service.channel, service.from("192.0.2.1", access))
            }
          let error = try await step.send(over: channel, options)
          endings["\(method.name) \(step.field)"] = error.map { "\($0.code.name) \($0.reason ?? "")" } ?? "OK"
          guard let error else { continue }
          let isJudged = ![.internal, .unknown, .unavailable, .dataLoss, .unimplemented].contains(error.code)
          #expect(isJudged && error.reason != nil, "\(step): \(error)")
        }
      }
      // Where it comes as far as a statement, and there is no rule before that it breaks.
      for reached in [
        "ListUsers app", "ListUsers email", "GetUser app", "GetUser subject", "ListAudit action", "ListAudit reason",
        "GetLedger capability", "SetKillSwitch reason", "ListJobs queue", "ListJobs kind", "PurgeJobs queue", "PurgeJobs kind",
      ] {
        #expect(endings[reached] == "INVALID_ARGUMENT UNSTORABLE_TEXT", "\(reached): \(endings[reached] ?? "not tried")")
      }
      #expect(endings.count > 60, "\(endings.count) texts were tried")
    }
  }

  @Test("A name from Apple with U+0000 in it makes an account, and no text over HTTP is a failure of the service's (BB-03)")
  func otherDoors() async throws {
    try await PaidWorld.with(Self.unlimited) { world in
      let service = world.service
      let nonce = try await service.nonce(.apple)
      let apple = try await service.auth.signInWithApple(
        .init(
          identityToken: try service.appleToken(nonce: nonce.providerNonce), nonce: nonce.nonce,
          fullName: .init(givenName: "An\u{0}a")), options: service.from())
      #expect(apple.profile?.name.utf8.contains(0) == false)
      let ana = try await service.signIn()
      let linked = try await service.get(
        "/api/settings/revenuecat-customer-id", token: ana.tokens?.accessToken, method: .put,
        body: #"{"originalAppUserId":"a\u0000b"}"#)
      #expect(linked.status == 400, "\(linked.status) \(linked.text ?? "")")
      for (name, value) in [("id", "e\\u0000"), ("app_user_id", "u\\u0000"), ("type", "T\\u0000"), ("product_id", "p\\u0000")] {
        var event = ["id": "e", "app_user_id": "u", "type": "RENEWAL", "product_id": "p"]
        event[name] = value
        let members = event.map { #""\#($0.key)":"\#($0.value)""# }.joined(separator: ",")
        let told = try await service.get(
          "/webhooks/revenuecat", method: .post, headers: ["Authorization": PaidWorld.secret],
          body: #"{"event":{\#(members),"event_timestamp_ms":1800000000000,"environment":"PRODUCTION"}}"#)
        // Told to come again, RevenueCat would for days.
        #expect((200...499).contains(told.status), "\(name): \(told.status) \(told.text ?? "")")
      }
    }
  }
}

extension BrokerFixture {
  /// Sends a request with a body of JSON.
  func get(
    _ path: String, token: String? = nil, method: HTTPMethod, headers: HTTPHeaders = [:], body: String
  ) async throws -> HTTPResponse {
    var request = HTTPRequest(method, base + path, headers: headers, body: Array(body.utf8))
    request.headers.add("Content-Type", "application/json")
    if let token { request.headers.add("Authorization", "Bearer \(token)") }
    return try await http.send(request)
  }
}
