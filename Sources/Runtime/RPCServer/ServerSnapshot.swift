public import EventLoop
public import HTTP2
internal import RPC

/// What a server is doing at one moment, for whoever operates it.
public struct ServerSnapshot: Sendable {
  /// One loop's share.
  public struct Loop: Sendable, Hashable {
    /// The loop.
    public let name: String
    /// Connections that are open there.
    public let connections: Int
    /// Streams that are open on those.
    public let streams: Int
    /// Handlers that are running.
    public let runningHandlers: Int
    /// What its connections have lived through.
    public let http2: HTTP2Statistics
  }

  /// One connection.
  public struct Connection: Sendable, Hashable {
    /// Where it comes from.
    public let peer: String
    /// The loop that it lives on.
    public let loop: String
    /// Whether it is encrypted.
    public let isSecure: Bool
    /// The name in the certificate that the peer has shown.
    public let certifiedName: String?
    /// How long it has been open.
    public let age: Duration
    /// How long nothing has come from the peer.
    public let silence: Duration
    /// Streams that are open.
    public let streams: Int
    /// Bytes that wait for the peer to read them.
    public let queuedBytes: Int
    /// Whether it takes no new streams.
    public let isDraining: Bool
  }

  /// Each loop; nil for one that did not answer in time, in the order of the group's loops.
  public let loops: [Loop?]
  /// The oldest connections of each loop, up to the limit that was asked for.
  public let connections: [Connection]
  /// Open streams by the path of their method, and `other` for plain HTTP; of at most ``streamLimit`` streams per loop.
  public let streamsByMethod: [String: Int]

  /// The most streams of a loop that are looked at.
  public static let streamLimit = 10_000
  /// The most connections of a loop that are looked at for the oldest.
  public static let connectionLimit = 10_000
}

extension RPCServer {
  /// What goes on, as each loop says it between its other work.
  ///
  /// - Parameters:
  ///   - limit: The most connections of each loop to describe.
  ///   - wait: How long to wait for a loop.
  public func snapshot(connections limit: Int, within wait: Duration = .seconds(1)) async -> ServerSnapshot {
    let parts = await group.ask(within: wait) { [loops] loop in
      loops.first { $0.loop === loop }?.snapshot(connections: limit)
    }
    var methods: [String: Int] = [:]
    for part in parts { if let part = part ?? nil { methods.merge(part.methods) { $0 + $1 } } }
    return ServerSnapshot(
      loops: parts.map { ($0 ?? nil)?.loop }, connections: parts.flatMap { ($0 ?? nil)?.connections ?? [] },
      streamsByMethod: methods)
  }
}

extension RPCServer {
  /// What goes on on `loop`, on which the caller is; nil for a loop of another group.
  public func counts(on loop: EventLoop) -> ServerSnapshot.Loop? { loops.first { $0.loop === loop }?.counts }
}

extension ServerLoop {
  struct Snapshot: Sendable {
    let loop: ServerSnapshot.Loop
    let connections: [ServerSnapshot.Connection]
    let methods: [String: Int]
  }

  /// Connections, open streams and running handlers.
  var counts: ServerSnapshot.Loop {
    .init(
      name: loop.name, connections: openConnections.count, streams: openConnections.reduce(0) { $0 + $1.streams.count },
      runningHandlers: runningHandlers.used, http2: resources.statistics)
  }

  func snapshot(connections limit: Int) -> Snapshot {
    let now = MonotonicInstant.now()
    let oldest = openConnections.prefix(ServerSnapshot.connectionLimit).sorted { $0.openedAt < $1.openedAt }.prefix(limit)
    var methods: [String: Int] = [:]
    var left = ServerSnapshot.streamLimit
    for connection in openConnections where left > 0 {
      for stream in connection.streams.prefix(left) {
        let call = stream.handler as? RPCServerCall
        methods[call?.route?.method.path ?? "other", default: 0] += 1
      }
      left -= connection.streams.count
    }
    return Snapshot(
      loop: counts, connections: oldest.map { Self.describe($0, on: loop.name, now) }, methods: methods)
  }

  private static func describe(
    _ connection: HTTP2Connection, on loop: String, _ now: MonotonicInstant
  ) -> ServerSnapshot.Connection {
    .init(
      peer: "\(connection.peer)", loop: loop, isSecure: connection.isSecure,
      certifiedName: connection.peerCertificate.flatMap { $0.uris.first ?? $0.commonName },
      age: now.duration(since: connection.openedAt), silence: max(.zero, now.duration(since: connection.lastActivity)),
      streams: connection.streams.count, queuedBytes: connection.queuedBytes, isDraining: connection.isDraining)
  }
}
