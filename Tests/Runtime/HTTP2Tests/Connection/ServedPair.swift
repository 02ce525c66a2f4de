import EventLoop
import Glibc
import HTTP2
import TestSupport

/// A served connection without a service behind it, and the raw peer at its other end, on one loop.
final class ServedPair: HTTP2ConnectionDelegate {
  let peer: HTTP2Peer
  private(set) var isReady = false
  private(set) var isClosed = false
  private(set) var opened: [HTTP2Stream] = []
  private let handler: (any HTTP2StreamHandler)?
  private var served: HTTP2Connection?

  /// The connection under test.
  var connection: HTTP2Connection { served! }

  /// Joins both ends by a pair of sockets. Confined to `loop`.
  init(on loop: EventLoop, limits: HTTP2Limits = HTTP2Limits(), handler: (any HTTP2StreamHandler)? = nil) throws {
    self.handler = handler
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw TimedOut("no pair of sockets") }
    peer = try HTTP2Peer(ends[1], on: loop, isServer: false)
    let resources = HTTP2LoopResources(loop, limits: limits)
    served = try .serve(ends[0], peer: SocketAddress("127.0.0.1:1"), tls: nil, resources: resources, delegate: self)
  }

  /// Says the preface and SETTINGS, and waits for the server's.
  func open(settings: [(UInt16, UInt32)] = []) async throws {
    peer.send(HTTP2Frame.preface)
    peer.send(.settings(settings))
    try await peer.wait("the handshake") { self.isReady && self.peer.frames.contains { $0.type == 4 } }
  }

  /// Runs `body` with a pair whose handshake is done, and closes both ends.
  static func run(
    limits: HTTP2Limits = HTTP2Limits(), settings: [(UInt16, UInt32)] = [],
    handler: @escaping @Sendable () -> (any HTTP2StreamHandler)? = { nil },
    _ body: @escaping @Sendable (ServedPair) async throws -> Void
  ) async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    let result: Result<Void, any Error>
    do {
      try await loop.perform {
        let pair = try ServedPair(on: loop, limits: limits, handler: handler())
        defer { pair.close() }
        try await pair.open(settings: settings)
        try await body(pair)
      }
      result = .success(())
    } catch { result = .failure(error) }
    group.shutDown()
    try result.get()
  }

  func close() {
    connection.close()
    peer.close()
  }

  func connectionIsReady(_ connection: HTTP2Connection) { isReady = true }
  func connection(_ connection: HTTP2Connection, opened stream: HTTP2Stream) {
    opened.append(stream)
    stream.handler = handler
  }
  func connectionIsDraining(_ connection: HTTP2Connection) {}
  func connectionClosed(_ connection: HTTP2Connection, _ error: HTTP2Error?) { isClosed = true }
}

// SAFETY: used on its loop only.
extension ServedPair: @unchecked Sendable {}
