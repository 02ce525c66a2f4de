import EventLoop
import RPC
import RPCClient
import Synchronization
import TestAPI
import TestSupport
import Testing

/// RF-08. Each wait is a task of its own: one that never ends fails its test, and does not hold it.
@Suite("Channels whose loops have ended")
struct EndedLoopTests {
  @Test("New calls are UNAVAILABLE, calls under way can be given up, and the channel can be closed")
  func ended() async throws {
    let server = try EchoServer.start()
    let group = try EventLoopGroup(count: 1, name: "ended")
    let channel = try server.channel(on: group)
    let client = EchoService.Client(channel)
    let codes = Mutex<[String: StatusCode?]>([:])
    let done = Tally("calls that ended")
    let call = { @Sendable (name: String, _ body: @escaping @Sendable () async throws -> Void) in
      Task { @Sendable in
        var code: StatusCode?
        do { try await body() } catch { code = (error as? RPCError)?.code }
        codes.withLock { $0[name] = code }
        done.add()
      }
    }
    let unary = call("unary") { _ = try await client.sleep() }
    try await server.handlers.sleeping.reaches(1)
    let open = Tally("streams open")
    let stream = call("stream") {
      try await channel.stream(EchoService.Methods.chat, .init()) { call in
        try await call.send(ChatRequest(text: "one"))
        var responses = call.responses
        _ = try await responses.next()
        open.add()
        _ = try await responses.next()
      }
    }
    try await open.reaches(1)
    await group.end(leaving: channel)
    unary.cancel()
    stream.cancel()
    _ = call("late unary") { _ = try await client.echo(.init(text: "x")) }
    _ = call("late stream") { try await client.chat { _ in } }
    _ = call("close") { await channel.close() }
    try await done.reaches(5)
    #expect(
      codes.withLock { $0 } == [
        "unary": .cancelled, "stream": .cancelled, "late unary": .unavailable, "late stream": .unavailable, "close": nil,
      ])
    // The sockets of a loop that ended in the middle of its work are closed by nobody.
    await server.group.end(leaving: server)
  }
}
