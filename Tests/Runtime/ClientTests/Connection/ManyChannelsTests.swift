import EventLoop
import HTTP2
import RPC
import RPCClient
import Synchronization
import TestAPI
import TestSupport
import Testing

/// JF-08. Calls at once, each on a channel of its own.
@Suite("Many channels at once")
struct ManyChannelsTests {
  private struct Times {
    /// How many connections were open when a call began, in the order in which they began.
    var open: [Int] = []
    /// From the beginning of a call to its arrival at the server.
    var waits: [Duration] = []
  }

  @Test("The first connections open while other calls are still set up, in clear text and under TLS", arguments: [false, true])
  func firstBytes(tls: Bool) async throws {
    let count = 64
    let arrivals = Mutex<[Int64: MonotonicInstant]>([:])
    let handlers = EchoHandlers { request, _ in arrivals.withLock { $0[request.sequence] = .now() } }
    let opened = Tally("connections opened")
    var configuration = ClientChannelConfiguration()
    configuration.events.connectionOpened = { _ in opened.add() }
    let settings = configuration
    let server = try EchoServer.start(tls: tls, handlers: handlers)
    let clients = try EventLoopGroup(count: 1, name: "clients")
    let loop = clients.loops[0]
    let times = Mutex(Times())
    let failures = Tally("calls that failed")
    try await loop.perform {
      await withTaskGroup { tasks in
        for number in 0..<count {
          tasks.addTask { @Sendable in
            let began = MonotonicInstant.now()
            times.withLock { $0.open.append(opened.value) }
            do {
              // With a context of its own under TLS, and what else a program does to make a call: some milliseconds in all.
              let channel = try server.channel(on: clients, configuration: settings)
              while MonotonicInstant.now().duration(since: began) < .milliseconds(4) {}
              let response = try await EchoService.Client(channel).echo(
                .init(text: "x", sequence: Int64(number)), options: .timeout(.seconds(60)))
              if response.text != "x" { failures.add() }
              await channel.close()
            } catch { failures.add() }
            let arrived = arrivals.withLock { $0[Int64(number)] }
            if let arrived { times.withLock { $0.waits.append(arrived.duration(since: began)) } }
          }
        }
      }
    }
    let (open, waits) = times.withLock { ($0.open, $0.waits.sorted()) }
    #expect(failures.value == 0 && waits.count == count)
    // All of them together take a quarter of a second at least: some connections have to be open before the last call begins.
    #expect((open.last ?? 0) > 0, "\(open)")
    #expect(waits[count / 2] < .seconds(1).withPatience, "\(waits)")
    try await server.stop()
    await clients.end()
  }
}
