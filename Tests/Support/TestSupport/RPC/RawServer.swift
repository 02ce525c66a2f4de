public import EventLoop
internal import Glibc

/// A server that does with each connection what a test says, over ``HTTP2Peer``.
public final class RawServer: Sendable {
  /// Where it listens.
  public let address: SocketAddress
  /// Connections accepted so far.
  public let accepted = Tally("connections accepted")
  /// Connections that are being served.
  public let serving = Tally("connections being served")
  private let listener: Listener

  /// Listens; `serve` runs on the accepting loop, once per connection, which it closes.
  public init(
    on group: EventLoopGroup, at address: String = "127.0.0.1:0", _ serve: @escaping @Sendable (HTTP2Peer) async throws -> Void
  ) throws {
    let (accepted, serving) = (accepted, serving)
    listener = try Listener(on: SocketAddress(address), group: group) { descriptor, _, loop in
      accepted.add()
      guard let peer = try? HTTP2Peer(descriptor, on: loop, isServer: true) else { return }
      serving.add()
      loop.spawn {
        try? await serve(peer)
        peer.close()
        loop.giveBackLoad()
        serving.add(-1)
      }
    }
    self.address = listener.address
    listener.start()
  }

  /// The port that it listens on.
  public var port: UInt16 { address.port ?? 0 }

  /// Stops to accept.
  public func close() { listener.close() }
}
