internal import AuthDomain
internal import AuthStore
internal import RPC
internal import ServiceKit
internal import Telemetry

/// Who sends a request, as far as the connection says.
struct AccountClient: Sendable {
  /// The client's address, for the activity.
  let address: String
  /// What the client's address is limited under.
  let addressKey: String
  /// The request's id, as in the log.
  let requestID: String

  init(_ call: CallContext, _ proxies: TrustedProxies) {
    let client = proxies.client(of: call.call)
    (address, addressKey) = (client.text, client.limitKey)
    requestID = RequestID.of(call.call)
  }

  var stored: SessionStore.Client { SessionStore.Client(address: address, requestID: requestID) }
}
