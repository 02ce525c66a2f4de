internal import Synchronization

/// How many connections a process takes.
public struct AcceptLimits: Sendable, Hashable {
  /// Connections in all.
  public var connections = 65_536
  /// Connections from one address: an IPv4 address, or the /64 network of an IPv6 address, which is what one customer of a
  /// provider has. Unix sockets have no address.
  public var connectionsPerAddress = 4_096

  /// The defaults.
  public init() {}
}

/// Counts the connections of all listeners and loops of a server, and says which are too many.
///
/// Its lock is taken when a connection is accepted and when it closes, never in between.
public final class AcceptGate: Sendable {
  /// Why a connection was not taken.
  public enum Refusal: Sendable, Hashable {
    /// There are as many connections as there may be.
    case full
    /// There are as many from this address as there may be.
    case fullForAddress
  }

  private enum Origin: Hashable {
    case ipv4(UInt32)
    case ipv6(UInt64)
  }

  private struct State {
    var total = 0
    var byOrigin: [Origin: Int] = [:]
  }

  /// What is counted against.
  public let limits: AcceptLimits
  private let state = Mutex(State())

  /// No connections yet.
  public init(_ limits: AcceptLimits = AcceptLimits()) { self.limits = limits }

  /// Connections that are counted now.
  public var connections: Int { state.withLock { $0.total } }

  /// Counts a connection from `peer`, unless it is one too many.
  public func enter(_ peer: SocketAddress) -> Refusal? {
    let origin = Self.origin(peer)
    return state.withLock { state in
      guard state.total < limits.connections else { return .full }
      if let origin {
        let count = state.byOrigin[origin, default: 0]
        guard count < limits.connectionsPerAddress else { return .fullForAddress }
        state.byOrigin[origin] = count + 1
      }
      state.total += 1
      return nil
    }
  }

  /// A connection that was counted is closed.
  public func leave(_ peer: SocketAddress) {
    let origin = Self.origin(peer)
    state.withLock { state in
      state.total -= 1
      guard let origin, let count = state.byOrigin[origin] else { return }
      state.byOrigin[origin] = count > 1 ? count - 1 : nil
    }
  }

  private static func origin(_ peer: SocketAddress) -> Origin? {
    switch peer.kind {
    case .ipv4(let bytes, _): .ipv4(bytes.reduce(0) { $0 << 8 | UInt32($1) })
    case .ipv6(let bytes, _) where peer.isMappedIPv4: .ipv4(bytes.suffix(4).reduce(0) { $0 << 8 | UInt32($1) })
    case .ipv6(let bytes, _): .ipv6(bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    case .unix: nil
    }
  }
}

/// Connections that a listener closed as soon as it had them.
public struct AcceptRefusals: Sendable, Hashable {
  /// Too many connections in all.
  public var full = 0
  /// Too many from their address.
  public var fullForAddress = 0
  /// The process had no descriptor left.
  public var outOfDescriptors = 0
  /// Where the last of them came from, when it is known.
  public var lastPeer: SocketAddress?

  /// How many there were.
  public var count: Int { full + fullForAddress + outOfDescriptors }
}
