import AuthDomain
import EventLoop
import HTTP2
import JSON
import RPC
import RPCServer
import Synchronization
import TestSupport
import Values

/// RevenueCat as far as billing knows it: `GET /v1/subscribers/{id}` over HTTP/2 and TLS.
final class FakeRevenueCat: Sendable {
  /// A customer as RevenueCat has it.
  struct Customer: Sendable {
    var original: String
    /// By name: when it ends (nil: never), its product, its period, whether it was turned off.
    var entitlements: [(name: String, product: String, ends: Instant?)] = []
    var period = "normal"
    var isUnsubscribed = false
    /// Products that were bought in a store's sandbox.
    var sandbox: Set<String> = []
    /// Products that were bought once and for all.
    var forever: Set<String> = []
  }

  enum Fault: Sendable {
    case none
    case status(Int, String)
    /// No answer before ``release()``.
    case hang
  }

  private struct State {
    /// By any of their ids.
    var customers: [String: Customer] = [:]
    var fault = Fault.none
    var asked: [String] = []
    var authorizations: Set<String> = []
    var held: [CheckedContinuation<Void, Never>] = []
  }

  static let key = "sk_planted_key"

  let clock: VirtualClock
  let hanging = Signal()
  private let state = Mutex(State())

  init(_ clock: VirtualClock) { self.clock = clock }

  /// The ids that were asked for, in their order.
  var asked: [String] { state.withLock { $0.asked } }
  var authorizations: Set<String> { state.withLock { $0.authorizations } }

  /// Knows a customer under these ids, the first of which is the original one.
  func know(
    _ ids: [String], entitlements: [(name: String, product: String, ends: Instant?)] = [], isUnsubscribed: Bool = false,
    sandbox: Set<String> = [], forever: Set<String> = []
  ) {
    let customer = Customer(
      original: ids[0], entitlements: entitlements, isUnsubscribed: isUnsubscribed, sandbox: sandbox, forever: forever)
    state.withLock { state in for id in ids { state.customers[id] = customer } }
  }

  func fail(_ fault: Fault) { state.withLock { $0.fault = fault } }

  /// Lets every hanging request go on.
  func release() {
    let held = state.withLock { state in
      defer { state.held = [] }
      state.fault = .none
      return state.held
    }
    for continuation in held { continuation.resume() }
  }

  // MARK: Serving

  func serve(on group: EventLoopGroup, _ authority: TestAuthority) throws -> (server: RPCServer, url: String) {
    let server = RPCServer(on: group, services: [], http: [], fallback: { request in await self.answer(request) })
    let leaf = authority.server()
    let tls = try TLSContext(
      .server(identity: .init(certificateChain: .bytes(leaf.certificateChain), privateKey: .bytes(leaf.privateKey))))
    let address = try server.listen(on: .init(.ipv4([127, 0, 0, 1], port: 0)), tls: tls)
    return (server, "https://localhost:\(address.port ?? 0)")
  }

  private func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    let prefix = "/v1/subscribers/"
    guard request.method == "GET", request.path.hasPrefix(prefix) else { return .text(404, "?") }
    let id = PercentEncoding.decode(Array(request.path.utf8.dropFirst(prefix.utf8.count)))
    let fault = state.withLock { state in
      state.asked.append(id)
      state.authorizations.insert(request.header("authorization") ?? "")
      return state.fault
    }
    switch fault {
    case .none: break
    case .status(let status, let body): return .json(status, Array(body.utf8))
    case .hang:
      await withCheckedContinuation { continuation in
        state.withLock { $0.held.append(continuation) }
        hanging.fire()
      }
    }
    let known = state.withLock { $0.customers[id] }
    return .json(known == nil ? 201 : 200, document(known ?? Customer(original: id)))
  }

  private func document(_ customer: Customer) -> [UInt8] {
    func text(_ moment: Instant?) -> JSONValue {
      moment.map { .string(Self.date($0)) } ?? .null
    }
    var entitlements: JSONObject = [:]
    var subscriptions: JSONObject = [:]
    var purchases: JSONObject = [:]
    for (name, product, ends) in customer.entitlements {
      entitlements[name] = [
        "expires_date": text(ends), "grace_period_expires_date": .null, "product_identifier": .string(product),
      ]
      let isSandbox = JSONValue.bool(customer.sandbox.contains(product))
      guard !customer.forever.contains(product) else {
        purchases[product] = [["id": "p1", "is_sandbox": isSandbox, "store": "app_store"]]
        continue
      }
      subscriptions[product] = [
        "is_sandbox": isSandbox,
        "expires_date": text(ends), "period_type": .string(customer.period), "store": "app_store",
        "unsubscribe_detected_at": customer.isUnsubscribed ? "2020-01-01T00:00:00Z" : .null, "billing_issues_detected_at": .null,
      ]
    }
    let milliseconds = clock.wall.components.seconds * 1000
    return
      ([
        "request_date_ms": .number(JSONNumber(milliseconds)),
        "subscriber": [
          "original_app_user_id": .string(customer.original), "management_url": "https://apps.apple.com/account/subscriptions",
          "entitlements": .object(entitlements), "subscriptions": .object(subscriptions),
          "non_subscriptions": .object(purchases),
        ],
      ] as JSONValue).encoded()
  }

  private static func date(_ moment: Instant) -> String {
    // 2027-01-15 is the day on which the tests' time begins; what they use lies within that month and the next.
    let seconds = moment.seconds - 1_800_000_000 + 8 * 3600
    func pad(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let day = 15 + (seconds >= 0 ? seconds / 86_400 : -1 - (-seconds - 1) / 86_400)
    let second = ((seconds % 86_400) + 86_400) % 86_400
    let date = day > 31 ? "02-\(pad(day - 31))" : "01-\(pad(day))"
    return "2027-\(date)T\(pad(second / 3600)):\(pad(second / 60 % 60)):\(pad(second % 60))Z"
  }
}
