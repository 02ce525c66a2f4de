public import EventLoop

/// Which connections carry the requests of many clients, and whose each request is.
///
/// What comes over a proxy's connection is counted against the client that the proxy names, and is answered on its stream alone:
/// nothing that one client does ends or holds up the connection that it shares with all others.
public struct ForwardedClients: Sendable {
  /// Whether the peer is a proxy whose word on its clients is taken.
  public let isProxy: @Sendable (_ peer: SocketAddress) -> Bool
  /// What the client of a request is counted under, from the values of all `x-forwarded-for` fields in their order.
  public let key: @Sendable (_ peer: SocketAddress, _ forwardedFor: [String]) -> String

  /// Takes the word of the peers that `isProxy` names.
  ///
  /// - Parameters:
  ///   - isProxy: Asked once for each connection.
  ///   - key: Asked for each request of such a connection whose fields were not seen lately; without any field the proxy itself is
  ///     the client.
  public init(
    isProxy: @escaping @Sendable (_ peer: SocketAddress) -> Bool,
    key: @escaping @Sendable (_ peer: SocketAddress, _ forwardedFor: [String]) -> String
  ) {
    self.isProxy = isProxy
    self.key = key
  }
}
