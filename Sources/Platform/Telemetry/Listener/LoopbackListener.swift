public import EventLoop
internal import Glibc
public import Logging
internal import Synchronization

/// A plain HTTP/1.1 server of GET requests, for scrapers, probes and operators on this machine.
///
/// It takes no bodies, 8 KiB of headers at most, and so many connections; one that is idle, or slow with its request or with
/// reading the answer, is closed after the idle timeout. Not meant to face a network: an address other than loopback is
/// warned about.
public final class LoopbackListener: Sendable {
  /// What is asked for.
  public struct Request: Sendable {
    /// The path, as it was sent, without the query.
    public let path: String
    /// The query, as it was sent, or an empty string.
    public let query: String
  }

  /// What is answered.
  public struct Response: Sendable {
    /// The status code.
    public var status: Int
    /// The `Content-Type`.
    public var contentType: String
    /// The body.
    public var body: [UInt8]

    /// An answer of bytes.
    public init(status: Int = 200, contentType: String, body: [UInt8]) {
      self.status = status
      self.contentType = contentType
      self.body = body
    }

    /// An answer of text.
    public init(status: Int = 200, _ text: String) {
      self.init(status: status, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }
  }

  /// Answers requests for one path, on the loop of the connection.
  public typealias Route = @Sendable (Request) async -> Response

  /// What a client may cost.
  public struct Limits: Sendable {
    /// Connections at once; one more is closed as soon as it is accepted.
    public var connections = 64
    /// Bytes of request line and headers, the empty line included.
    public var headerBytes = 8 << 10
    /// How long a connection may wait for a request, take for sending it, or take for reading the answer.
    public var idleTimeout = Duration.seconds(10)

    /// The defaults.
    public init() {}
  }

  /// Where it listens, with the port that the system chose.
  public var address: SocketAddress { listener.address }
  private let listener: Listener
  private let shared: Shared

  /// What all connections share.
  final class Shared: Sendable {
    let routes: [String: Route]
    let limits: Limits
    let open = Atomic(0)
    private let connections = Mutex(Connections())

    private struct Connections {
      var open: [ObjectIdentifier: LoopbackConnection] = [:]
      var isClosed = false
    }

    init(_ routes: [String: Route], _ limits: Limits) {
      self.routes = routes
      self.limits = limits
    }

    /// Keeps a connection in view until it is removed; false once all are to end.
    func add(_ connection: LoopbackConnection) -> Bool {
      connections.withLock {
        if !$0.isClosed { $0.open[ObjectIdentifier(connection)] = connection }
        return !$0.isClosed
      }
    }

    func remove(_ connection: LoopbackConnection) {
      _ = connections.withLock { $0.open.removeValue(forKey: ObjectIdentifier(connection)) }
    }

    /// Ends all connections: those that are being answered after their answer, the others at once.
    func close() {
      let open = connections.withLock {
        $0.isClosed = true
        return Array($0.open.values)
      }
      for connection in open { connection.close() }
    }
  }

  /// A server that accepts once ``start()`` was called.
  ///
  /// - Parameters:
  ///   - address: Where it listens; port 0 lets the system choose.
  ///   - group: The loops that serve.
  ///   - routes: What is answered, by exact path. Paths that are missing get 404.
  ///   - limits: What a client may take.
  ///   - logger: Who is told what goes wrong.
  public init(
    on address: SocketAddress, group: EventLoopGroup, routes: [String: Route], limits: Limits = .init(),
    logger: Logger = Logger(label: "parley.telemetry")
  ) throws(EventLoopError) {
    let shared = Shared(routes, limits)
    self.shared = shared
    listener = try Listener(on: address, group: group) { descriptor, _, loop in
      guard shared.open.add(1, ordering: .relaxed).newValue <= shared.limits.connections else {
        shared.open.subtract(1, ordering: .relaxed)
        loop.giveBackLoad()
        Glibc.close(descriptor)
        return
      }
      LoopbackConnection(descriptor, on: loop, shared).start()
    }
    if !address.isLoopback {
      logger.warning(
        "metrics and admin pages can be reached from other machines", metadata: ["address": "\(listener.address)"])
    }
  }

  /// Begins to accept.
  public func start() { listener.start() }

  /// Stops accepting. Connections end with the answer that is under way, or at once.
  public func close() {
    listener.close()
    shared.close()
  }
}

extension PrometheusRegistry {
  /// Answers with all metrics.
  public var route: LoopbackListener.Route {
    { _ in .init(contentType: Self.contentType, body: self.exposition()) }
  }
}
