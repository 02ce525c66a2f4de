import EventLoop
import Logging
import OpenID
import Outbound
import RevenueCatProvider
import Synchronization
import TestSupport
import Testing

@Suite("RevenueCat client")
struct RevenueCatClientTests {
  /// RevenueCat by script: the answers in their order, the last one again and again.
  final class Script: HTTPSending {
    private let answers: [Result<HTTPResponse, OutboundError>]
    private let seen = Mutex<[HTTPRequest]>([])

    init(_ answers: Result<HTTPResponse, OutboundError>...) { self.answers = answers }

    var requests: [HTTPRequest] { seen.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws(OutboundError) -> HTTPResponse {
      let count = seen.withLock { seen in
        seen.append(request)
        return seen.count
      }
      return try answers[min(count, answers.count) - 1].get()
    }
  }

  static func response(_ status: Int, _ body: String = document(), headers: HTTPHeaders = [:]) -> Result<
    HTTPResponse, OutboundError
  > {
    .success(HTTPResponse(status: status, headers: headers, body: Array(body.utf8)))
  }

  static func document(entitlements: String = "{}", subscriptions: String = "{}", original: String = "u1") -> String {
    """
    {"request_date":"2026-01-02T03:04:05Z","request_date_ms":1767323045000,"subscriber":{"original_app_user_id":"\(original)",
    "management_url":"https://apps.apple.com/account/subscriptions","entitlements":\(entitlements),
    "subscriptions":\(subscriptions),"non_subscriptions":{},"other_purchases":{}}}
    """
  }

  private static func client(_ script: Script, _ clock: VirtualClock = VirtualClock(), _ log: CapturedLog = CapturedLog())
    -> RevenueCatClient
  {
    RevenueCatClient(
      key: "sk_planted", base: "https://api.revenuecat.example/", over: script, clock: clock.google, log: log.logger)
  }

  @Test("B-50: 200 and 201 are answers, the id is escaped whole, and the key is the bearer token")
  func found() async throws {
    for status in [200, 201] {
      let script = Script(Self.response(status))
      let subscriber = try await Self.client(script).subscriber("$RCAnonymousID:a/b c?ü", within: .seconds(2))
      #expect(subscriber.originalAppUserID == "u1" && subscriber.requestedAt == 1_767_323_045_000)
      #expect(subscriber.managementURL == "https://apps.apple.com/account/subscriptions")
      let request = try #require(script.requests.first)
      #expect(request.url == "https://api.revenuecat.example/v1/subscribers/%24RCAnonymousID%3Aa%2Fb%20c%3F%C3%BC")
      #expect(request.headers["authorization"] == "Bearer sk_planted" && request.headers["x-platform"] == nil)
      #expect(request.timeout == .seconds(2))
    }
  }

  @Test("The document is read with all that counts, and expired entitlements stay in it")
  func documents() async throws {
    let body = Self.document(
      entitlements: """
        {"pro":{"expires_date":"2026-02-02T03:04:05Z","grace_period_expires_date":"2026-02-03T03:04:05.250Z","product_identifier":"monthly"},
        "old":{"expires_date":"2020-02-29T23:59:59+01:00","product_identifier":"weekly"},
        "life":{"expires_date":null,"product_identifier":"forever"}}
        """,
      subscriptions: """
        {"monthly":{"period_type":"TRIAL","store":"app_store","unsubscribe_detected_at":"2026-01-01T00:00:00Z",
        "billing_issues_detected_at":null,"refunded_at":null,"store_transaction_id":100}}
        """)
    let subscriber = try await Self.client(Script(Self.response(200, body))).subscriber("u1", within: .seconds(2))
    #expect(subscriber.entitlements.map(\.name) == ["pro", "old", "life"])
    #expect(subscriber.entitlements.map(\.expiresAt) == [1_770_001_445_000, 1_583_017_199_000, nil])
    #expect(subscriber.entitlements[0].graceUntil == 1_770_087_845_250)
    let product = try #require(subscriber.products["monthly"])
    #expect(product.period == "trial" && product.isUnsubscribed && !product.hasBillingIssue && product.refundedAt == nil)
  }

  @Test(
    "What is no subscriber document is refused, and asked for no more",
    arguments: [
      "", "[]", "{}", #"{"subscriber":{}}"#, #"{"request_date_ms":1,"subscriber":{}}"#,
      document(entitlements: #"{"pro":{"product_identifier":"p"}}"#), document(entitlements: #"{"pro":null}"#),
      document(entitlements: #"{"pro":{"expires_date":"soon"}}"#), document(entitlements: #"{"pro":{"expires_date":5}}"#),
      document(entitlements: #"{"pro":{"expires_date":"2026-13-01T00:00:00Z"}}"#),
    ])
  func malformed(body: String) async throws {
    let script = Script(Self.response(200, body))
    let error = await #expect(throws: RevenueCatError.self) {
      try await Self.client(script).subscriber("u1", within: .seconds(2))
    }
    #expect(error?.code == .malformed && script.requests.count == 1)
  }

  @Test("After 429 it waits as long as the body says, else the header, and gives up when there is no time")
  func limited() async throws {
    let clock = VirtualClock()
    let script = Script(
      Self.response(429, #"{"backoff_ms":700}"#, headers: ["Retry-After": "90"]),
      Self.response(429, "{}", headers: ["Retry-After": "1"]),
      Self.response(200))
    _ = try await Self.client(script, clock).subscriber("u1", within: .seconds(2))
    #expect(clock.sleeps == [.milliseconds(700), .seconds(1)])
    let late = Script(Self.response(429, #"{"code":7226,"message":"planted","backoff_ms":2000}"#))
    let error = await #expect(throws: RevenueCatError.self) {
      try await Self.client(late, clock).subscriber("u1", within: .seconds(2))
    }
    #expect(late.requests.count == 1 && error?.description == "unavailable: status 429 code 7226")
  }

  @Test("Three attempts at what may pass, one at what will not, and the key is in no line of the log")
  func failures() async throws {
    let passing: [Result<HTTPResponse, OutboundError>] = [
      Self.response(500, "sk_planted"), Self.response(503), .failure(OutboundError(.connectionLost, "GET")),
      .failure(OutboundError(.timeout, "GET")),
    ]
    let log = CapturedLog()
    for answer in passing {
      let script = Script(answer)
      let error = await #expect(throws: RevenueCatError.self) {
        try await Self.client(script, VirtualClock(), log).subscriber("u1", within: .seconds(20))
      }
      #expect(script.requests.count == 3 && error?.code == .unavailable)
    }
    for status in [400, 401, 403, 404] {
      let script = Script(Self.response(status, #"{"code":7243,"message":"sk_planted"}"#))
      let error = await #expect(throws: RevenueCatError.self) {
        try await Self.client(script, VirtualClock(), log).subscriber("u1", within: .seconds(20))
      }
      #expect(script.requests.count == 1 && error?.description == "refused: status \(status) code 7243")
    }
    #expect(!log.all.isEmpty && !log.all.contains { $0.contains("planted") })
  }

  @Test("A webhook's body is read leniently, but never without id, type and customer")
  func webhooks() throws {
    let sample = """
      {"api_version":"1.0","event":{"id":"E1","type":"RENEWAL","app_user_id":"u1","original_app_user_id":"u0",
      "aliases":["u0","u1","u2"],"entitlement_ids":["pro"],"expiration_at_ms":1770001445000,
      "event_timestamp_ms":1767323045000,"store":"APP_STORE","environment":"PRODUCTION","of_tomorrow":[{}]}}
      """
    let webhook = try RevenueCatWebhook(parsing: Array(sample.utf8))
    #expect(webhook.customers == ["u1", "u0", "u2"] && webhook.entitlements == ["pro"] && webhook.expiresAt == 1_770_001_445_000)
    let transfer = #"{"event":{"id":"E","type":"TRANSFER","transferred_from":["a"],"transferred_to":["b"]}}"#
    #expect(try RevenueCatWebhook(parsing: Array(transfer.utf8)).transferredTo == ["b"])
    let faults: [(String, RevenueCatWebhook.Fault)] = [
      ("", .malformed), ("{}", .malformed), (#"{"event":[]}"#, .malformed), (#"{"event":{"id":"E"}}"#, .malformed),
      (#"{"event":{"id":"","type":"T","app_user_id":"u"}}"#, .malformed),
      (#"{"event":{"id":5,"type":"T","app_user_id":"u"}}"#, .malformed),
      (#"{"event":{"id":"E","type":"RENEWAL"}}"#, .noCustomer),
      (#"{"event":{"id":"E","type":"RENEWAL","app_user_id":"","aliases":["a"]}}"#, .noCustomer),
    ]
    for (body, fault) in faults {
      #expect(throws: fault) { try RevenueCatWebhook(parsing: Array(body.utf8)) }
    }
  }
}
