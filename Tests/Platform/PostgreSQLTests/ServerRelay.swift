import EventLoop
import Glibc
import PostgreSQL
import Synchronization
import TestSupport

/// A way to the tests' server over TCP, on which requests to cancel a statement can be held back.
final class ServerRelay: Sendable {
  private struct Failure: Error {}

  /// Where it listens, on 127.0.0.1.
  let port: UInt16
  /// Connections that asked for something to be cancelled.
  let cancels = Tally("cancel requests")
  /// Connections in all.
  let accepted = Tally("connections")
  private let listener: Int32
  private let server: String
  /// What a held request reads from: its other end is closed to let all go.
  private let gate = Mutex<(read: Int32, write: Int32)?>(nil)
  private let pool = BlockingPool(maximumThreads: 32)

  /// Length and code of a cancel request, as it goes over the wire.
  private static let cancelRequest: [UInt8] = [0, 0, 0, 16, 4, 210, 22, 46]

  /// A relay to a server that listens on a Unix socket.
  init(to configuration: DatabaseConfiguration) throws {
    server = "\(configuration.host)/.s.PGSQL.\(configuration.port)"
    (listener, port) = try Self.listener()
    Task { [self] in try await pool.run { self.accept() } }
  }

  /// A socket that listens on 127.0.0.1, on a port of the system's choice, and accepts nothing by itself.
  static func listener() throws -> (descriptor: Int32, port: UInt16) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    guard let any = SocketAddress(ip: "127.0.0.1", port: 0), any.withSockaddr({ bind(listener, $0, $1) }) == 0,
      listen(listener, 64) == 0,
      let bound = withUnsafeMutablePointer(
        to: &storage,
        { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            getsockname(listener, address, &length) == 0 ? SocketAddress(address)?.port : nil
          }
        })
    else {
      Glibc.close(listener)
      throw Failure()
    }
    return (listener, bound)
  }

  /// Runs `body` with a relay to the server of `configuration`, and a configuration that leads through it.
  static func with<Value>(
    _ configuration: DatabaseConfiguration, _ body: (ServerRelay, DatabaseConfiguration) async throws -> Value
  ) async throws -> Value {
    let relay = try ServerRelay(to: configuration)
    var through = configuration
    through.host = "127.0.0.1"
    through.port = relay.port
    do {
      let value = try await body(relay, through)
      await relay.close()
      return value
    } catch {
      await relay.close()
      throw error
    }
  }

  /// Lets requests to cancel wait here, from now on.
  func hold() throws {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw Failure() }
    gate.withLock { $0 = (ends[0], ends[1]) }
  }

  /// Lets those go that wait, and holds no more.
  func release() {
    // The reading end stays open until the process ends: somebody may be about to read from it.
    if let ends = gate.withLock({ $0.take() }) { Glibc.close(ends.write) }
  }

  private func close() async {
    release()
    shutdown(listener, Int32(SHUT_RDWR))
    let closing = BlockingPool(maximumThreads: 1)
    try? await closing.run { self.pool.shutDown() }
    closing.shutDown()
    Glibc.close(listener)
  }

  private func accept() {
    while case let client = Glibc.accept(listener, nil, nil), client >= 0 {
      accepted.add()
      Task { [self] in try await pool.run { self.serve(client) } }
    }
  }

  private func serve(_ client: Int32) {
    defer { Glibc.close(client) }
    var first = [UInt8](repeating: 0, count: 8)
    guard recv(client, &first, 8, Int32(MSG_WAITALL)) == 8 else { return }
    if first == Self.cancelRequest {
      cancels.add()
      var nothing: UInt8 = 0
      if let ends = gate.withLock({ $0 }) { _ = read(ends.read, &nothing, 1) }
    }
    let upstream = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { Glibc.close(upstream) }
    guard let address = try? SocketAddress("unix:\(server)"), address.withSockaddr({ connect(upstream, $0, $1) }) == 0,
      send(upstream, first, 8, Int32(MSG_NOSIGNAL)) == 8
    else { return }
    var both = [pollfd(fd: client, events: Int16(POLLIN), revents: 0), pollfd(fd: upstream, events: Int16(POLLIN), revents: 0)]
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while poll(&both, 2, -1) > 0 {
      for (from, to) in [(0, 1), (1, 0)] where both[from].revents != 0 {
        let count = recv(both[from].fd, &buffer, buffer.count, 0)
        guard count > 0, send(both[to].fd, buffer, count, Int32(MSG_NOSIGNAL)) == count else { return }
      }
    }
  }
}
