public import EventLoop

/// Finds the addresses behind a host name. The channel asks never more than once at a time, and not more often than
/// ``ClientChannelConfiguration/resolutionInterval`` allows.
public protocol NameResolver: Sendable {
  /// The addresses of `host`, in the order in which they should be tried. Called on one of the channel's loops, which it must
  /// not block.
  ///
  /// - Throws: Anything; calls are told its description as UNAVAILABLE.
  func addresses(of host: String, port: UInt16) async throws -> [SocketAddress]
}

/// Asks the system: `getaddrinfo`, on a thread of its own.
public struct SystemResolver: NameResolver {
  private let pool: BlockingPool

  /// A resolver whose queries run on `pool`.
  public init(on pool: BlockingPool) { self.pool = pool }

  /// The addresses in the order of RFC 6724, as the C library sorts them.
  public func addresses(of host: String, port: UInt16) async throws -> [SocketAddress] {
    try await pool.run { try SocketAddress.resolve(host: host, port: port) }
  }
}
