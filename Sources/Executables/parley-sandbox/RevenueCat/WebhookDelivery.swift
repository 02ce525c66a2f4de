import EventLoop
import Glibc
import JSON
import Outbound

/// An event that RevenueCat is to post, and how often: again and again until it is answered with 200, five times more at most.
struct WebhookDelivery: Sendable {
  /// The fields of the control request.
  static let names: Set<String> = ["url", "authorization", "event", "times", "retries", "pauseMs"]

  private let url: String
  private let authorization: String?
  private let body: [UInt8]
  private let times: Int
  private let retries: Int
  private let pause: Duration

  /// Reads a wish; `now` is in seconds since 1970.
  init(_ request: ControlRequest, now: Int64) throws(ControlRequest.Fault) {
    guard let url = try request.text("url") else { throw .init(message: "'url' is missing: where to?") }
    guard var event = request.body["event"]?.object, event["type"]?.string != nil else {
      throw .init(message: "'event' is no object with a 'type'")
    }
    if event["id"] == nil { event["id"] = .string("sandbox-\(UInt64.random(in: .min ... .max))") }
    if event["event_timestamp_ms"] == nil { event["event_timestamp_ms"] = .number(JSONNumber(now * 1000)) }
    self.url = url
    authorization = try request.text("authorization")
    body = (["api_version": "1.0", "event": .object(event)] as JSONValue).encoded()
    times = try request.integer("times", in: 1...100) ?? 1
    retries = try request.integer("retries", in: 0...5) ?? 5
    pause = .milliseconds(try request.integer("pauseMs", in: 0...60_000) ?? 200)
  }

  /// Posts it.
  ///
  /// - Returns: `{"attempts": [503, 0, 200], "delivered": true}`; 0 stands for no answer.
  func post(over http: HTTPClient) async throws -> JSONValue {
    var statuses: [Int] = []
    for _ in 0..<times {
      for attempt in 0...retries {
        if attempt > 0, let loop = EventLoop.current { try await loop.sleep(for: pause) }
        statuses.append(await send(over: http))
        // Any other success counts as a failure.
        if statuses.last == 200 { break }
      }
    }
    return ["attempts": .array(statuses.map { .number(JSONNumber($0)) }), "delivered": .bool(statuses.last == 200)]
  }

  private func send(over http: HTTPClient) async -> Int {
    var request = HTTPRequest(.post, url, headers: ["Content-Type": "application/json"], body: body)
    if let authorization { request.headers.add("Authorization", authorization) }
    request.timeout = .seconds(60)
    do { return try await http.send(request).status } catch { return 0 }
  }
}
