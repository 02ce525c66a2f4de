import EventLoop
import HTTP2
import JSON
import Outbound
import RPCServer
import Synchronization
import TestSupport
import Testing

@testable import parley_sandbox

@Suite("Sandbox: RevenueCat") struct SandboxRevenueCatTests {
  private static let key: HTTPHeaders = ["Authorization": "Bearer sk_1"]

  private static func ask(_ running: RunningSandbox, _ path: String, _ headers: HTTPHeaders = key) async throws -> HTTPResponse {
    try await running.send(HTTPRequest(.get, running.url + path, headers: headers))
  }

  @Test("A customer is found under each of its ids, on RevenueCat's own path too; a stranger is made, and found the next time")
  func customers() async throws {
    try await RunningSandbox.run { running in
      let wish: JSONObject = [
        "ids": ["$RCAnonymousID:a/1", "u1"], "entitlements": ["pro": ["productId": "monthly", "expiresIn": 60]],
        "unsubscribed": true,
      ]
      #expect(try await running.post("/sandbox/revenuecat/customer", wish).status == 200)
      for path in ["/revenuecat/v1/subscribers/u1", "/v1/subscribers/%24RCAnonymousID%3Aa%2F1"] {
        let response = try await Self.ask(running, path)
        let subscriber = try parsed(response.body)["subscriber"]
        #expect(response.status == 200 && subscriber?["original_app_user_id"] == "$RCAnonymousID:a/1")
        #expect(subscriber?["entitlements"]?["pro"]?["product_identifier"] == "monthly")
        #expect(subscriber?["subscriptions"]?["monthly"]?["unsubscribe_detected_at"]?.string?.hasSuffix("Z") == true)
      }
      let made = try await Self.ask(running, "/v1/subscribers/new")
      let found = try await Self.ask(running, "/v1/subscribers/new")
      #expect(made.status == 201 && found.status == 200)
      #expect(try await Self.ask(running, "/v1/subscribers/new", [:]).status == 401)
      #expect(running.sandbox.counters[RevenueCatStandIn.path].requests == 5)
    }
  }

  @Test("It fails on command")
  func faults() async throws {
    try await RunningSandbox.run { running in
      _ = try await running.post("/sandbox/faults", ["path": .string(RevenueCatStandIn.path), "status": 503, "count": 1])
      #expect(try await Self.ask(running, "/v1/subscribers/u1").status == 503)
      #expect(try await Self.ask(running, "/v1/subscribers/u1").status == 201)
    }
  }

  @Test(
    "A wish that is not understood is refused",
    arguments: [
      ("customer", [:]), ("customer", ["ids": []]), ("customer", ["ids": ["a", 5]]), ("customer", ["ids": ["a"], "x": 1]),
      ("customer", ["ids": ["a"], "entitlements": ["pro": ["productId": "p"]]]), ("webhook", [:]),
      ("webhook", ["url": "http://127.0.0.1:1/", "event": ["id": "E"]]),
    ] as [(String, JSONObject)])
  func refused(path: String, wish: JSONObject) async throws {
    try await RunningSandbox.run { running in
      let response = try await running.post("/sandbox/revenuecat/\(path)", wish)
      #expect(response.status == 400)
    }
  }

  @Test("A webhook is posted with the Authorization value until it is answered with 200, the same event each time")
  func webhooks() async throws {
    let posted = Mutex<[(authorization: String?, body: [UInt8])]>([])
    let answers: [Int] = [500, 204, 200, 200]
    try await RunningSandbox.run { running in
      let hook = HTTPRoute("/hook") { request in
        let count = posted.withLock { posted in
          posted.append((request.header("authorization"), request.body))
          return posted.count
        }
        return .text(answers[min(count, answers.count) - 1], "")
      }
      let (server, url) = try running.serve(hook)
      let wish: JSONObject = [
        "url": .string(url + "/hook"), "authorization": "whole value", "event": ["type": "RENEWAL", "app_user_id": "u1"],
        "times": 2,
        "pauseMs": 1,
      ]
      let answer = try parsed(try await running.post("/sandbox/revenuecat/webhook", wish).body)
      await server.drain(within: .seconds(2))
      #expect(answer["attempts"] == [500, 204, 200, 200] && answer["delivered"] == true)
    }
    let seen = posted.withLock { $0 }
    #expect(seen.count == 4 && seen.allSatisfy { $0.authorization == "whole value" && $0.body == seen[0].body })
    let event = try JSONParser.parse(seen[0].body)["event"]
    #expect(event?["id"]?.string?.isEmpty == false && event?["event_timestamp_ms"]?.int64 != nil)
  }

  @Test("A webhook that nobody takes is given up after five repetitions")
  func nobody() async throws {
    try await RunningSandbox.run { running in
      let wish: JSONObject = ["url": "http://127.0.0.1:1/", "event": ["type": "TEST"], "pauseMs": 0]
      let answer = try parsed(try await running.post("/sandbox/revenuecat/webhook", wish).body)
      #expect(answer["attempts"] == [0, 0, 0, 0, 0, 0] && answer["delivered"] == false)
    }
  }
}
