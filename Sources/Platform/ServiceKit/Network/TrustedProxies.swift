internal import EventLoop
internal import HTTP2
public import RPC
public import RPCServer

/// The proxies whose word on a client's address is taken.
public struct TrustedProxies: Sendable {
  /// Their networks.
  public let networks: [NetworkPrefix]

  /// Proxies in these networks; without any, the peer of a connection is the client.
  public init(_ networks: [NetworkPrefix] = []) { self.networks = networks }

  /// How a server tells the clients of these proxies apart; nil without any.
  var forwardedClients: ForwardedClients? {
    guard !networks.isEmpty else { return nil }
    return ForwardedClients(
      isProxy: { [networks] in ClientAddress.isTrusted($0.host, networks) },
      key: { [networks] in ClientAddress.resolve(peer: $0.host, forwardedFor: $1, trusted: networks).limitKey })
  }

  /// The client of an RPC.
  public func client(of call: any ServerCall) -> ClientAddress {
    // Reading the metadata costs more than anything else here, and without proxies it would not count.
    guard !networks.isEmpty else { return ClientAddress(call.peer.address) }
    return .resolve(peer: call.peer.address, forwardedFor: call.metadata.values(of: "x-forwarded-for"), trusted: networks)
  }

  /// The client of a plain HTTP request.
  public func client(of request: HTTPServerRequest) -> ClientAddress {
    .resolve(peer: request.peer.address, forwardedFor: request.headerValues("x-forwarded-for"), trusted: networks)
  }
}
