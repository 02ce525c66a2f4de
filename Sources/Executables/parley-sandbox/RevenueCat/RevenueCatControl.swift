import Glibc
import JSON
import Outbound
import RPCServer

/// What steers RevenueCat's side of the sandbox.
struct RevenueCatControl: Sendable {
  let revenueCat: RevenueCatStandIn
  let control: ControlRoutes
  let http: HTTPClient

  var routes: [HTTPRoute] {
    [
      control.route("/sandbox/revenuecat/customer", ["POST": know, "DELETE": forget]),
      control.route("/sandbox/revenuecat/webhook", ["POST": post]),
    ]
  }

  private func know(_ request: HTTPServerRequest) throws -> HTTPServerResponse {
    let now = Int64(time(nil))
    let customer = try CustomerRequest(ControlRequest(request, allowing: CustomerRequest.names), now: now)
    revenueCat.know(customer)
    return .json(customer.document(now: now))
  }

  private func forget(_ request: HTTPServerRequest) -> HTTPServerResponse {
    revenueCat.reset()
    return .json([:])
  }

  private func post(_ request: HTTPServerRequest) async throws -> HTTPServerResponse {
    let delivery = try WebhookDelivery(ControlRequest(request, allowing: WebhookDelivery.names), now: Int64(time(nil)))
    return .json(try await delivery.post(over: http))
  }
}
