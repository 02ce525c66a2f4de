import Glibc
import JSON
import RPC
import RPCServer
import Synchronization

/// RevenueCat as far as the services know it: customers by any of their ids, made when they are first asked for.
final class RevenueCatStandIn: Sendable {
  /// The path by which questions are counted and told to fail.
  static let path = "/revenuecat/v1/subscribers"

  private let customers = Mutex<[String: CustomerRequest]>([:])
  private let now: @Sendable () -> Int64

  /// Nobody is known yet. `now` is in seconds since 1970.
  init(now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }) { self.now = now }

  /// What is served, by its paths.
  var routes: [StandInRoute] {
    [
      StandInRoute(
        method: "GET", path: Self.path,
        patterns: [.init(prefix: Self.path + "/", suffix: ""), .init(prefix: "/v1/subscribers/", suffix: "")]
      ) { self.subscriber($0) }
    ]
  }

  /// Knows a customer from now on, instead of whoever had one of the ids.
  func know(_ customer: CustomerRequest) {
    customers.withLock { customers in for id in customer.ids { customers[id] = customer } }
  }

  /// Forgets everybody.
  func reset() { customers.withLock { $0 = [:] } }

  private func subscriber(_ request: HTTPServerRequest) -> HTTPServerResponse {
    guard let field = request.header("authorization"), field.hasPrefix("Bearer "), field.utf8.count > 7 else {
      return .json(["code": 7225, "message": "Invalid API Key."], status: 401)
    }
    let name = request.path.utf8.split(separator: UInt8(ascii: "/")).last.map(Array.init) ?? []
    let id = PercentEncoding.decode(name)
    let (customer, isNew) = customers.withLock { customers in
      if let known = customers[id] { return (known, false) }
      let made = CustomerRequest(newcomer: id)
      customers[id] = made
      return (made, true)
    }
    return .json(customer.document(now: now()), status: isNew ? 201 : 200)
  }
}
