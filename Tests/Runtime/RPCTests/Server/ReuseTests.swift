import EventLoop
import RPC
import Synchronization
import TestAPI
import TestSupport
import Testing

@Suite("Reuse of call objects")
struct ReuseTests {
  @Test("A context that outlives its call never sees another call's data")
  func escape() async throws {
    let escaped = Mutex<[CallContext]>([])
    let handlers = EchoHandlers { request, call in
      if request.text == "escape" { escaped.withLock { $0.append(call) } }
      call[EchoHandlers.CallerKey.self] = request.text
    }
    try await EchoServer.run(handlers: handlers) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      let echo: [UInt8] = [0x0a, 0x06] + Array("escape".utf8)
      peer.call(1, "Echo", echo, headers: [("x-secret", "mine"), ("grpc-timeout", "10S")])
      #expect(try await peer.response(1).status == 0)
      let other: [UInt8] = [0x0a, 0x05] + Array("other".utf8)
      for stream in stride(from: UInt32(3), to: 41, by: 2) {
        peer.call(stream, "Echo", other, headers: [("x-secret", "theirs"), ("grpc-timeout", "90S")])
        #expect(try await peer.response(stream).status == 0)
      }
      // The call is the server loop's: it is asked there, while another call is open.
      peer.call(41, "Sleep", headers: [("x-secret", "theirs"), ("grpc-timeout", "90S")])
      try await server.handlers.sleeping.reaches(1)
      let context = try #require(escaped.withLock { $0.first })
      let (secret, name, left, method) = try await server.group.loops[0].perform {
        (context.metadata["x-secret"], context[EchoHandlers.CallerKey.self], context.deadline?.timeLeft, context.method.name)
      }
      #expect(secret != "theirs")
      #expect(name == "escape")
      #expect(left.map { $0 <= .seconds(10) } == true)
      #expect(method == "Echo")
      escaped.withLock { $0 = [] }
      peer.close()
    }
  }

  @Test("A writer that outlives its call cannot add to the response", arguments: [false, true])
  func lateWriter(_ deadlinePassed: Bool) async throws {
    let ended = Tally("late writes")
    let handlers = EchoHandlers { _, call in
      guard call.deadline != nil else { return }
      let call = call.call
      let loop = EventLoop.current
      if deadlinePassed {
        // The handler ignores its cancellation and answers all the same.
        while !Task.isCancelled { await Task.yield() }
        ended.add()
      } else {
        loop?.spawn {
          await Task.yield()
          try? await call.send(EchoResponse(text: "too late"))
          ended.add()
        }
      }
    }
    try await EchoServer.run(handlers: handlers) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.call(1, "Echo", [], headers: [("grpc-timeout", deadlinePassed ? "50m" : "10S")])
      let response = try await peer.response(1)
      #expect(response.status == (deadlinePassed ? 4 : 0))
      try await ended.reaches(1)
      try await peer.probe(3)
      let messages = HTTP2Peer.messages(in: peer.streams[1]?.body ?? [])
      #expect(messages.count == (deadlinePassed ? 0 : 1))
      peer.close()
    }
  }
}
