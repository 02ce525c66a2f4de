public import EventLoop
public import HTTP2
public import RPC

/// What one loop's share of a channel is doing, or the whole channel: gRPC's connectivity states.
public enum ChannelState: Int, Sendable, Hashable, Comparable {
  /// Closed for good.
  case closed
  /// No connection, and no address that serves: calls fail unless they wait.
  case failing
  /// No connection, and no call that needs one.
  case idle
  /// Looking for addresses, or connecting.
  case connecting
  /// There is a connection to call on.
  case ready

  /// The better one comes last.
  public static func < (left: ChannelState, right: ChannelState) -> Bool { left.rawValue < right.rawValue }
}

/// Who is told what a channel lives through: for logs and metrics. Called on the channel's loops, which must not be blocked.
public struct ClientChannelEvents: Sendable {
  /// One loop's share of the channel is in another state; the error says why it fails.
  public var stateChanged: @Sendable (ChannelState, RPCError?) -> Void = { _, _ in }
  /// A connection is ready.
  public var connectionOpened: @Sendable (SocketAddress) -> Void = { _ in }
  /// A connection that was ready is closed; without an error when nothing was lost.
  public var connectionClosed: @Sendable (SocketAddress, HTTP2Error?) -> Void = { _, _ in }
  /// The channel's name was looked up.
  public var resolved: @Sendable (Result<[SocketAddress], RPCError>) -> Void = { _ in }
  /// A server complained of too many PINGs; from now on the keepalive time is this.
  public var keepaliveSlowed: @Sendable (Duration) -> Void = { _ in }

  /// Nobody is told.
  public init() {}
}
