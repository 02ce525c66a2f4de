import EventLoop
import Glibc
import RPC
import RPCClient
import RPCServer
import TestAPI
import TestSupport
import Testing

@Suite("Whose handler has a loop")
struct HandlerTraceTests {
  /// A gate in the kernel, where a handler holds its loop until the test lets it go.
  private final class Gate: Sendable {
    let held = Tally("handlers that hold the loop")
    private let ends: (Int32, Int32)

    init() {
      var pair: [Int32] = [0, 0]
      pipe(&pair)
      ends = (pair[0], pair[1])
    }

    deinit {
      close(ends.0)
      close(ends.1)
    }

    func hold() {
      held.add()
      var byte: UInt8 = 0
      while read(ends.0, &byte, 1) < 0 && errno == EINTR {}
    }

    func open() {
      var byte: UInt8 = 1
      _ = write(ends.1, &byte, 1)
    }
  }

  /// What is said of the server's loop while `hold` holds it.
  private static func trace(
    http: [HTTPRoute] = [], gate: Gate, before: @escaping @Sendable (EchoRequest, CallContext) async throws -> Void,
    call: @escaping @Sendable (ClientChannel, EchoServer) async throws -> Void
  ) async throws -> HandlerTrace? {
    let server = try EchoServer.start(handlers: EchoHandlers(beforeEcho: before), http: http)
    let clients = try EventLoopGroup(count: 1)
    let channel = try server.channel(on: clients)
    async let calling: Void = clients.loops[0].perform { try await call(channel, server) }
    try await gate.held.reaches(1)
    let trace = server.server.handler(on: server.group.loops[0])
    gate.open()
    try await calling
    try await clients.loops[0].perform { await channel.close() }
    try await server.stop()
    clients.shutDown()
    return trace
  }

  private static let echo = "/parley.testing.v1.EchoService/Echo"

  @Test("A handler that blocks before it suspends is named")
  func running() async throws {
    let gate = Gate()
    let trace = try await Self.trace(gate: gate) { _, _ in
      gate.hold()
    } call: { channel, _ in
      _ = try await EchoService.Client(channel).echo(.init(text: "x"))
    }
    #expect(trace == HandlerTrace(path: Self.echo, certainty: .running))
  }

  @Test("A handler that blocks once it was resumed is named, also when others have begun since")
  func resumed() async throws {
    let gate = Gate()
    let trace = try await Self.trace(gate: gate) { request, _ in
      guard request.text == "slow" else { return }
      try await EventLoop.current?.sleep(for: .milliseconds(50))
      gate.hold()
    } call: { channel, _ in
      let client = EchoService.Client(channel)
      async let slow = client.echo(.init(text: "slow"))
      _ = try? await client.fail(.init(code: 5, message: "no"))
      _ = try await slow
    }
    #expect(trace == HandlerTrace(path: Self.echo, certainty: .resumed))
  }

  @Test("What is no handler's own task is told by the handler that began last")
  func last() async throws {
    let gate = Gate()
    let trace = try await Self.trace(gate: gate) { _, _ in
    } call: { channel, server in
      _ = try await EchoService.Client(channel).echo(.init(text: "x"))
      server.group.loops[0].execute { gate.hold() }
    }
    #expect(trace == HandlerTrace(path: Self.echo, certainty: .last))
    #expect(trace?.description == "a task or callback (the last handler to begin was \(Self.echo))")
  }

  @Test("A loop that has served nothing has nothing to name")
  func nothing() async throws {
    let server = try EchoServer.start()
    #expect(server.server.handler(on: server.group.loops[0]) == nil)
    try await server.stop()
  }
}
