import EventLoop
import Glibc
import HTTP2
import RPC
import RPCClient
import Synchronization
import TestAPI
import TestSupport

/// Several echo servers, each counting its calls, and a loop for the clients.
final class Fleet: Sendable {
  /// One of the servers.
  final class Member: Sendable {
    let server: EchoServer
    /// Calls of `Echo`.
    let calls: Tally

    init(_ address: String, _ name: String) throws {
      let calls = Tally("calls of \(name)")
      self.calls = calls
      server = try EchoServer.start(on: address, handlers: EchoHandlers { _, _ in calls.add() })
    }
  }

  let members: [Member]
  let clients: EventLoopGroup

  private init(_ count: Int, loops: Int) throws {
    members = try (0..<count).map { try Member("127.0.0.1:0", "server \($0)") }
    clients = try EventLoopGroup(count: loops, name: "test")
  }

  /// Starts servers, runs `body` on a client's loop, stops what still runs and proves that no socket is left.
  static func run(
    _ count: Int, loops: Int = 1, _ body: @escaping @Sendable (Fleet) async throws -> Void
  ) async throws {
    let fleet = try Fleet(count, loops: loops)
    let result: Result<Void, any Error>
    do { result = .success(try await fleet.clients.loops[0].perform { try await body(fleet) }) } catch {
      result = .failure(error)
    }
    do { for member in fleet.members where !member.isStopped { try await member.stop() } } catch {
      // What went wrong first is what the reader wants to know.
      try result.get()
      throw error
    }
    fleet.clients.shutDown()
    try result.get()
  }

  /// Where the servers listen.
  var addresses: [SocketAddress] { members.map(\.server.address) }
  /// Calls of each server.
  var calls: [Int] { members.map(\.calls.value) }

  /// A port on which nobody listens, held for as long as the fleet lives so that nobody else is given it.
  func closedAddress() throws -> SocketAddress {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw TimedOut("no socket") }
    held.withLock { $0.append(descriptor) }
    let wanted = SocketAddress(.ipv4([127, 0, 0, 1], port: 0))
    guard wanted.withSockaddr({ bind(descriptor, $0, $1) }) == 0 else { throw TimedOut("cannot bind") }
    var storage = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let named = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    guard named == 0 else { throw TimedOut("no name") }
    return SocketAddress(.ipv4([127, 0, 0, 1], port: UInt16(bigEndian: storage.sin_port)))
  }

  private let held = Mutex<[Int32]>([])

  deinit { held.withLock { for descriptor in $0 { close(descriptor) } } }
}

extension Fleet.Member {
  /// Whether its loop has ended.
  var isStopped: Bool { !server.group.loops[0].execute {} }

  /// Drains and ends the server.
  func stop() async throws { try await server.stop() }
}

/// What a channel's events told, for tests to look at and to wait for.
final class Witness: Sendable {
  private struct Record {
    var states: [ChannelState] = []
    var errors: [RPCError] = []
    var resolved: [Result<[SocketAddress], RPCError>] = []
    var slowed: [Duration] = []
    var lost: [HTTP2Error] = []
  }

  private let record = Mutex(Record())
  /// Connections that are ready now.
  let open = Tally("ready connections")
  /// Connections that have become ready.
  let opened = Tally("connections opened")
  /// Counts everything, to wait for.
  let told = Tally("events")

  var states: [ChannelState] { record.withLock { $0.states } }
  var errors: [RPCError] { record.withLock { $0.errors } }
  var resolutions: Int { record.withLock { $0.resolved.count } }
  var slowed: [Duration] { record.withLock { $0.slowed } }
  var lost: [HTTP2Error] { record.withLock { $0.lost } }

  var events: ClientChannelEvents {
    var events = ClientChannelEvents()
    events.stateChanged = { [self] state, error in
      record.withLock { record in
        record.states.append(state)
        if let error { record.errors.append(error) }
      }
      told.add()
    }
    events.connectionOpened = { [self] _ in
      opened.add()
      open.add()
      told.add()
    }
    events.connectionClosed = { [self] _, error in
      if let error { record.withLock { $0.lost.append(error) } }
      open.add(-1)
      told.add()
    }
    events.resolved = { [self] answer in
      record.withLock { $0.resolved.append(answer) }
      told.add()
    }
    events.keepaliveSlowed = { [self] time in
      record.withLock { $0.slowed.append(time) }
      told.add()
    }
    return events
  }

  /// Waits until the last state told is `state`.
  func reaches(_ state: ChannelState) async throws { try await told.wait { [self] _ in states.last == state } }
}

extension ClientChannelConfiguration {
  /// Short waits, and a witness of what happens.
  static func quick(_ witness: Witness? = nil, _ loadBalancing: LoadBalancingPolicy = .pickFirst()) -> ClientChannelConfiguration
  {
    var configuration = ClientChannelConfiguration()
    configuration.backoff.initial = .milliseconds(10)
    configuration.backoff.maximum = .milliseconds(20)
    configuration.attemptDelay = .milliseconds(20)
    configuration.loadBalancing = loadBalancing
    if let witness { configuration.events = witness.events }
    return configuration
  }
}

/// Makes an `Echo` and returns what it failed with.
func failure(_ client: EchoService.Client, _ options: CallOptions = .timeout(.seconds(10))) async -> RPCError? {
  do throws(RPCError) {
    _ = try await client.echo(options: options)
    return nil
  } catch { return error }
}
