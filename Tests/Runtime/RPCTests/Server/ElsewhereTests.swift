import EventLoop
import Foundation
import MessagesCore
import RPC
import RPCClient
import RPCServer
import Synchronization
import TestAPI
import TestSupport
import Testing

/// Handlers that use their call from tasks, actors and executors that are not its loop's. The thread sanitizer looks on in
/// `make test-tsan`; what is asserted here is that every answer is whole, and its caller's.
@Suite("Calls that are used from elsewhere")
struct ElsewhereTests {
  /// A thread of its own for the actor that is given it.
  final class ThreadExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "elsewhere")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }

  /// Handlers that are isolated to an actor on a thread of its own.
  actor Clerk {
    private let executor = ThreadExecutor()
    private(set) var served = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func echo(_ request: EchoRequest, _ call: CallContext) async throws -> EchoResponse {
      served += 1
      let text = request.text
      ElsewhereTests.say(text, call)
      // Off again, and back.
      await Task.detached { ElsewhereTests.say(text, call) }.value
      return EchoResponse(text: text, body: request.body)
    }

    func count(_ request: CountRequest, _ responses: ResponseWriter<CountResponse>) async throws {
      for number in 1...request.to {
        let response = ElsewhereTests.numbered(number, request.payloadSize)
        if number.isMultiple(of: 3) {
          try await Task.detached { try await responses.write(response) }.value
        } else {
          try await responses.write(response)
        }
      }
    }

    func sum(_ requests: RequestStream<SumRequest>) async throws -> SumResponse {
      var response = SumResponse()
      for try await request in requests {
        response.total += request.number
        response.count += 1
      }
      return response
    }

    func chat(_ requests: RequestStream<ChatRequest>, _ responses: ResponseWriter<ChatResponse>, _ call: CallContext) async throws
    {
      call.sendInitialMetadata()
      for try await request in requests {
        call.trailingMetadata["x-last"] = request.text
        try await responses.write(ChatResponse(text: request.text))
      }
    }

    func guarded(_ call: CallContext) async -> GuardedResponse {
      // Read and set by several at once.
      await withTaskGroup(of: Void.self) { tasks in
        for _ in 0..<4 {
          tasks.addTask { @concurrent in
            for _ in 0..<50 {
              call[EchoHandlers.CallerKey.self] = call.metadata["x-name"]
              _ = (call.peer, call.deadline, call.requestWasCompressed, call.responseCompression, call.initialMetadata)
            }
          }
        }
      }
      return GuardedResponse(caller: call[EchoHandlers.CallerKey.self] ?? "nobody")
    }

    nonisolated var routes: [MethodRoute] {
      [
        .unary(EchoService.Methods.echo) { request, call in try await self.echo(request, call) },
        .unary(EchoService.Methods.guarded) { _, call in await self.guarded(call) },
        .serverStreaming(EchoService.Methods.count) { request, responses, _ in try await self.count(request, responses) },
        .clientStreaming(EchoService.Methods.sum) { requests, _ in try await self.sum(requests) },
        .bidirectional(EchoService.Methods.chat) { requests, responses, call in try await self.chat(requests, responses, call) },
      ]
    }
  }

  /// Handlers on the loop that hand their calls to tasks of their own.
  static let hands: [MethodRoute] = [
    .unary(EchoService.Methods.echo) { request, call in
      let text = request.text
      await Task.detached { say(text, call) }.value
      return EchoResponse(text: text, body: request.body)
    },
    .unary(EchoService.Methods.guarded) { _, call in
      let name = await Task.detached { () -> String? in
        call[EchoHandlers.CallerKey.self] = call.metadata["x-name"]
        return call[EchoHandlers.CallerKey.self]
      }.value
      return GuardedResponse(caller: name ?? "nobody")
    },
    .serverStreaming(EchoService.Methods.count) { request, responses, _ in
      let (last, size, next) = (request.to, request.payloadSize, Tickets())
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for _ in 0..<4 {
          tasks.addTask(executorPreference: globalConcurrentExecutor) {
            while let number = next.take(last) { try await responses.write(numbered(number, size)) }
          }
        }
        try await tasks.waitForAll()
      }
    },
  ]

  final class Tickets: Sendable {
    private let next = Atomic<Int32>(0)
    func take(_ last: Int32) -> Int32? {
      let number = next.add(1, ordering: .relaxed).newValue
      return number <= last ? number : nil
    }
  }

  static func numbered(_ number: Int32, _ size: Int32) -> CountResponse {
    CountResponse(number: number, payload: Bytes([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: Int(size))))
  }

  /// Sets what a handler may set, and reads what it may read.
  static func say(_ text: String, _ call: CallContext) {
    #expect(call.peer.address == "127.0.0.1" && call.metadata["x-name"] == text)
    call.initialMetadata["x-initial"] = text
    call.trailingMetadata["x-trailing"] = text
    call[EchoHandlers.CallerKey.self] = text
    #expect(call[EchoHandlers.CallerKey.self] == text && call.initialMetadata["x-initial"] == text)
    call.letGoOfRequest()
  }

  private func serve(
    _ routes: [MethodRoute], _ body: @escaping @Sendable (EchoService.Client) async throws -> Void
  ) async throws {
    let (group, clients) = (try EventLoopGroup(count: 2, name: "served"), try EventLoopGroup(count: 2, name: "calls"))
    let server = RPCServer(on: group, services: [ServiceRoutes(EchoService.descriptor, routes)])
    let address = try server.listen(on: SocketAddress("127.0.0.1:0"))
    let channel = ClientChannel(to: .host("127.0.0.1", port: address.port ?? 0), on: clients)
    let result: Result<Void, any Error>
    do {
      try await body(EchoService.Client(channel))
      result = .success(())
    } catch { result = .failure(error) }
    await server.drain(within: .seconds(10))
    await channel.close()
    clients.shutDown()
    group.shutDown()
    try result.get()
  }

  @Test("Each of many calls at once gets its own answer, whole, from an actor and from detached tasks", arguments: [true, false])
  func own(_ isActor: Bool) async throws {
    let body: @Sendable (EchoService.Client) async throws -> Void = { client in
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for index in 0..<40 {
          tasks.addTask {
            let name = "caller-\(index)"
            var options = CallOptions()
            options.metadata["x-name"] = name
            for round in 0..<10 {
              let payload = Bytes([UInt8](repeating: UInt8(truncatingIfNeeded: index), count: 1_000 + round))
              let answer = try await client.channel.unary(
                EchoService.Methods.echo, EchoRequest(text: name, body: payload), options)
              #expect(answer.message.text == name && answer.message.body == payload)
              #expect(answer.initialMetadata["x-initial"] == name && answer.trailingMetadata["x-trailing"] == name)
              #expect(try await client.guarded(.init(), options: options).caller == name)
            }
          }
        }
        try await tasks.waitForAll()
      }
    }
    try await serve(isActor ? Clerk().routes : Self.hands, body)
  }

  @Test("Streams are written and read from an actor's thread and from tasks of their own, in order and whole")
  func streams() async throws {
    try await serve(Clerk().routes) { client in
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for index in 1...12 {
          tasks.addTask {
            let size = index * 700
            try await client.count(CountRequest(to: Int32(20 + index), payloadSize: Int32(size))) { responses in
              var seen: Int32 = 0
              for try await response in responses {
                seen += 1
                #expect(response.number == seen && response.payload.count == size)
                #expect(response.payload == Self.numbered(seen, Int32(size)).payload)
              }
              #expect(seen == Int32(20 + index))
            }
            let total = try await client.sum { requests in
              for number in 1...50 { try await requests.write(SumRequest(number: Int64(number))) }
            }
            #expect(total.total == 1_275 && total.count == 50)
            try await client.chat { call in
              for round in 0..<20 {
                try await call.send(ChatRequest(text: "\(index)/\(round)"))
                var responses = call.responses
                #expect(try await responses.next()?.text == "\(index)/\(round)")
              }
              try await call.finishSending()
              var responses = call.responses
              #expect(try await responses.next() == nil)
              #expect(await call.trailingMetadata()["x-last"] == "\(index)/19")
            }
          }
        }
        try await tasks.waitForAll()
      }
    }
  }

  @Test("Several tasks that write one stream write whole messages")
  func manyWriters() async throws {
    try await serve(Self.hands) { client in
      try await client.count(CountRequest(to: 200, payloadSize: 5_000)) { responses in
        var numbers: Set<Int32> = []
        for try await response in responses {
          #expect(response.payload == Self.numbered(response.number, 5_000).payload)
          numbers.insert(response.number)
        }
        #expect(numbers == Set(1...200))
      }
    }
  }

  @Test("What a call says of itself stays true for whoever still holds it when it is over, and is no other call's")
  func afterwards() async throws {
    let kept = Held()
    let routes: [MethodRoute] = [
      .unary(EchoService.Methods.echo) { request, call in
        kept.calls.withLock { $0.append(call) }
        ElsewhereTests.say(request.text, call)
        return EchoResponse(text: request.text)
      }
    ]
    try await serve(routes) { client in
      for index in 0..<30 {
        var options = CallOptions()
        options.metadata["x-name"] = "held-\(index)"
        _ = try await client.echo(EchoRequest(text: "held-\(index)"), options: options)
      }
      let held = kept.calls.withLock { $0 }
      #expect(held.count == 30)
      for (index, call) in held.enumerated() {
        #expect(call.metadata["x-name"] == "held-\(index)" && call.method.name == "Echo")
        #expect(call[EchoHandlers.CallerKey.self] == "held-\(index)")
        await #expect(throws: RPCError.self) { try await call.call.send(EchoResponse(text: "late")) }
      }
      // A server keeps its routes, these keep the calls, and they their server.
      kept.calls.withLock { $0 = [] }
    }
  }

  final class Held: Sendable {
    let calls = Mutex<[CallContext]>([])
  }

  /// Notes tasks that outlive their handler.
  final class Outliving: Sendable {
    let ends = Mutex<[String]>([])
    let ended = Tally("tasks that ended")
    let wrote = Tally("responses written")
    func note(_ end: String) {
      ends.withLock { $0.append(end) }
      ended.add()
    }
  }

  @Test("A task that outlives its handler and waits for a request, or for room, ends when the call does")
  func outliving() async throws {
    let outliving = Outliving()
    let routes: [MethodRoute] = [
      .bidirectional(EchoService.Methods.chat) { requests, responses, _ in
        var requests = requests
        _ = try await requests.next()
        let left = requests
        // One waits for requests that never come, one for room that is never made.
        Task {
          var rest = left
          do { outliving.note(try await rest.next() == nil ? "the end" : "a request") } catch { outliving.note(Self.name(error)) }
        }
        Task {
          do {
            while true {
              // More than there is room for: the next one has to wait.
              try await responses.write(ChatResponse(text: String(repeating: "x", count: 30_000)))
              outliving.wrote.add()
            }
          } catch { outliving.note(Self.name(error)) }
        }
        try await outliving.wrote.wait { $0 > 0 }
      }
    ]
    try await serve(routes) { client in
      try await client.chat { call in
        try await call.send(ChatRequest(text: "hello"))
        // The caller reads nothing and keeps its side open.
        try await outliving.ended.wait { $0 == 2 }
      }
    }
    #expect(outliving.ends.withLock { $0 } == ["CANCELLED", "CANCELLED"])
  }

  private static func name(_ error: any Error) -> String { (error as? RPCError)?.code.name ?? "\(error)" }
}
