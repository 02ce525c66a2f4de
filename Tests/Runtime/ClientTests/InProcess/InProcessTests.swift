import EventLoop
import MessagesCore
import RPC
import RPCInProcess
import Synchronization
import TestAPI
import TestSupport
import Testing

/// The same generated client as over a socket, without one.
@Suite("In-process channels")
struct InProcessTests {
  private typealias Methods = EchoService.Methods

  /// Runs `body` on a loop, on which handlers run too.
  private func run(
    handlers: EchoHandlers = EchoHandlers(), interceptors: [any ServerInterceptor] = [],
    clientInterceptors: [any ClientInterceptor] = [], queuedMessages: Int = 16,
    unexpectedError: @escaping @Sendable (any Error, String) -> Void = { _, _ in },
    _ body: @escaping @Sendable (InProcessChannel, EchoService.Client, EchoHandlers) async throws -> Void
  ) async throws {
    let group = try EventLoopGroup(count: 1, name: "test")
    let result: Result<Void, any Error>
    do {
      result = .success(
        try await group.loops[0].perform {
          let channel = InProcessChannel(
            services: [EchoService.routes(handlers)], interceptors: interceptors, clientInterceptors: clientInterceptors,
            on: group.loops[0], queuedMessages: queuedMessages, unexpectedError: unexpectedError)
          try await body(channel, EchoService.Client(channel), handlers)
        })
    } catch { result = .failure(error) }
    group.shutDown()
    try result.get()
  }

  private func error<Value>(_ body: () async throws -> Value) async -> RPCError? {
    do {
      _ = try await body()
      return nil
    } catch { return error as? RPCError }
  }

  @Test("A unary call returns what the handler returned")
  func unary() async throws {
    try await run { _, client, _ in
      let response = try await client.echo(.init(text: "grüße", body: .init([0, 255]), sequence: 7))
      #expect(response.text == "grüße" && response.body == [0, 255] && response.sequence == 7)
    }
  }

  @Test("Without an executor handlers run on the shared pool")
  func pool() async throws {
    let channel = InProcessChannel(services: [EchoService.routes(EchoHandlers())])
    #expect(try await EchoService.Client(channel).echo(.init(text: "x")).text == "x")
  }

  @Test("Metadata travels both ways, except for what no wire carries")
  func metadata() async throws {
    try await run { channel, _, _ in
      var options = CallOptions(metadata: ["x-text": "a", "x-other": "b"])
      options.metadata.append("x-raw-bin", [1, 2, 255])
      options.metadata.append(.init(name: "grpc-timeout", value: .text("1S")))
      let response = try await channel.unary(
        Methods.metadata,
        MetadataRequest(initial: ["x-initial": "1", "x-initial-bin": "2"], trailing: ["x-trailing": "3"]), options)
      #expect(response.message.received == ["x-text": "a", "x-other": "b", "x-raw-bin": MetadataBase64.encode([1, 2, 255])])
      #expect(response.initialMetadata["x-initial"] == "1" && response.initialMetadata.binary("x-initial-bin") == Array("2".utf8))
      #expect(response.trailingMetadata["x-trailing"] == "3")
      options.metadata["x-bad"] = "zwei\nzeilen"
      let unsendable = options
      let refused = await error { try await channel.unary(Methods.metadata, MetadataRequest(), unsendable) }
      #expect(refused?.code == .internal && refused?.message.contains("x-bad") == true)
    }
  }

  @Test("Errors arrive with code, message and details, and without their cause", arguments: 1...16)
  func errors(_ code: Int) async throws {
    try await run { _, client, _ in
      let error = await error { try await client.fail(.init(code: Int32(code), message: "größer", reason: "BECAUSE")) }
      #expect(error?.code.rawValue == code && error?.message == "größer" && error?.reason == "BECAUSE")
      #expect(error?.retryAfter == .milliseconds(1_500) && error?.details.count == 4 && error?.cause == nil)
    }
  }

  @Test("An unexpected error is INTERNAL with an incident, and its owner is told what it was")
  func unexpected() async throws {
    let seen = Mutex<[String]>([])
    try await run(unexpectedError: { error, incident in
      seen.withLock { $0 = [(error as? EchoHandlers.Unexpected)?.secret ?? "", incident] }
    }) { _, client, _ in
      let error = await error { try await client.fail(.init(code: 99, message: "secret")) }
      #expect(error?.code == .internal && error?.message.contains("secret") == false)
      let told = seen.withLock { $0 }
      #expect(told.first == "secret" && error?.message.hasSuffix(told.last ?? "?") == true)
    }
  }

  @Test("Cancelling a task that waits for one message gives the call up")
  func cancelledWait() async throws {
    try await run { _, client, _ in
      try await client.chat { call in
        try await call.send(.init(text: "one"))
        var responses = call.responses
        #expect(try await responses.next()?.text == "one")
        let waiting = Task { [responses] in
          var responses = responses
          return try await responses.next()
        }
        waiting.cancel()
        #expect(await error { try await waiting.value }?.code == .cancelled)
      }
    }
  }

  @Test("A method that is not served is UNIMPLEMENTED")
  func unknown() async throws {
    let empty = InProcessChannel(services: [])
    #expect(await error { try await EchoService.Client(empty).echo() }?.code == .unimplemented)
  }

  @Test("A deadline ends the call on both sides, and one that has passed begins none")
  func deadline() async throws {
    try await run { _, client, handlers in
      let error = await error { try await client.sleep(options: .timeout(.milliseconds(20))) }
      #expect(error?.code == .deadlineExceeded)
      try await handlers.cancelled.reaches(1)
      #expect(await self.error { try await client.sleep(options: .timeout(.zero)) }?.code == .deadlineExceeded)
      #expect(handlers.sleeping.value == 1)
    }
  }

  @Test("A call made while serving another one inherits its deadline")
  func inherited() async throws {
    let group = try EventLoopGroup(count: 1, name: "test")
    defer { group.shutDown() }
    let inner = InProcessChannel(services: [EchoService.routes(EchoHandlers())], on: group.loops[0])
    let seen = Mutex<StatusCode?>(nil)
    let ended = Tally("inner calls ended")
    let handlers = EchoHandlers { _, _ in
      defer { ended.add() }
      do throws(RPCError) { _ = try await EchoService.Client(inner).sleep() } catch {
        seen.withLock { $0 = error.code }
        throw error
      }
    }
    try await run(handlers: handlers) { _, client, _ in
      #expect(await error { try await client.echo(options: .timeout(.milliseconds(50))) }?.code == .deadlineExceeded)
      try await ended.reaches(1)
    }
    // Whichever of the two clocks was first.
    let code = seen.withLock { $0 }
    #expect(code == .deadlineExceeded || code == .cancelled)
  }

  @Test("Cancelling the caller's task cancels the handler")
  func cancellation() async throws {
    try await run { _, client, handlers in
      let code = Mutex<StatusCode?>(nil)
      let task = EventLoop.current?.spawn {
        do throws(RPCError) { _ = try await client.sleep() } catch { code.withLock { $0 = error.code } }
      }
      try await handlers.sleeping.reaches(1)
      task?.cancel()
      await task?.value
      #expect(code.withLock { $0 } == .cancelled)
      try await handlers.cancelled.reaches(1)
    }
  }

  @Test("Responses stream, and a slow reader slows the handler to what may wait", arguments: [1, 3])
  func backPressure(_ room: Int) async throws {
    try await run(queuedMessages: room) { channel, _, handlers in
      try await channel.stream(Methods.count, .timeout(.seconds(20))) { call in
        try await call.send(CountRequest(to: 50))
        try await call.finishSending()
        var responses = call.responses
        #expect(try await responses.next()?.number == 1)
        try await handlers.counted.reaches(room)
        // The handler has nothing to do but wait: the loop is ours for a while.
        for _ in 0..<100 { await Task.yield() }
        #expect(handlers.counted.value <= room + 1)
        var numbers: [Int32] = []
        while let response = try await responses.next() { numbers.append(response.number) }
        #expect(numbers == Array(2...50))
      }
      try await handlers.ended.reaches(1)
    }
  }

  @Test("A slow handler slows the caller to what may wait")
  func requestPressure() async throws {
    let gate = Tally("gate")
    let sent = Tally("sent")
    let route = MethodRoute.clientStreaming(Methods.sum) { (requests: RequestStream<SumRequest>, _) in
      try await gate.reaches(1)
      var response = SumResponse()
      for try await request in requests { response.total += request.number }
      return response
    }
    let channel = InProcessChannel(services: [ServiceRoutes(EchoService.descriptor, [route])], queuedMessages: 4)
    try await channel.stream(Methods.sum, .timeout(.seconds(20))) { call in
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask {
          for number in 1...10 {
            try await call.send(SumRequest(number: Int64(number)))
            sent.add()
          }
          try await call.finishSending()
        }
        try await sent.reaches(4)
        for _ in 0..<100 { await Task.yield() }
        #expect(sent.value == 4)
        gate.add()
        try await tasks.waitForAll()
      }
      var responses = call.responses
      #expect(try await responses.only().total == 55)
    }
  }

  @Test("Messages go both ways at once")
  func chat() async throws {
    try await run { channel, _, _ in
      try await channel.stream(Methods.chat, .timeout(.seconds(20))) { call in
        var responses = call.responses
        for index in 0..<100 {
          try await call.send(ChatRequest(text: "\(index)"))
          #expect(try await responses.next()?.text == "\(index)")
        }
        #expect(try await call.initialMetadata().isEmpty)
        try await call.finishSending()
        #expect(try await responses.next() == nil)
        // After the end there is nothing to send to.
        #expect(await error { try await call.send(ChatRequest(text: "late")) }?.code == .cancelled)
      }
    }
  }

  @Test("A handler that answers before it has read all counts, and the caller's late requests are no failure")
  func early() async throws {
    let route = MethodRoute.clientStreaming(Methods.sum) { (_: RequestStream<SumRequest>, _) in SumResponse(total: 7) }
    let channel = InProcessChannel(services: [ServiceRoutes(EchoService.descriptor, [route])], queuedMessages: 1)
    let response = try await EchoService.Client(channel).sum(options: .timeout(.seconds(20))) { requests in
      while true { try await requests.write(SumRequest(number: 1)) }
    }
    #expect(response.total == 7)
  }

  @Test("Leaving a stream early cancels its handler, and the error of the scope comes back as it was")
  func leave() async throws {
    struct Enough: Error {}
    try await run(queuedMessages: 1) { channel, _, handlers in
      await #expect(throws: Enough.self) {
        try await channel.stream(Methods.count, .timeout(.seconds(20))) { call in
          try await call.send(CountRequest(to: 1_000_000))
          try await call.finishSending()
          var responses = call.responses
          _ = try await responses.next()
          throw Enough()
        }
      }
      try await handlers.ended.reaches(1)
      #expect(handlers.counted.value < 10)
    }
  }

  @Test("No request, or two, where there is to be one is UNIMPLEMENTED", arguments: [0, 2])
  func cardinality(_ count: Int) async throws {
    try await run { channel, _, _ in
      let unary = await error {
        try await channel.stream(Methods.echo, .timeout(.seconds(20))) { call in
          for _ in 0..<count { try await call.send(EchoRequest()) }
          try await call.finishSending()
          var responses = call.responses
          _ = try await responses.only()
        }
      }
      #expect(unary?.code == .unimplemented)
      let streamed = await error {
        try await channel.stream(Methods.count, .timeout(.seconds(20))) { call in
          for _ in 0..<count { try await call.send(CountRequest(to: 3)) }
          try await call.finishSending()
          for try await _ in call.responses {}
        }
      }
      #expect(streamed?.code == .unimplemented)
    }
  }

  @Test("No response, or two, where there is to be one is UNIMPLEMENTED to the caller, INTERNAL when the handler forgot it")
  func responses() async throws {
    let none = MethodRoute(Methods.sum.info) { _ in }
    let two = MethodRoute(Methods.sum.info) { call in
      for _ in 0..<2 { try await call.send(SumResponse()) }
    }
    for (route, code) in [(none, StatusCode.internal), (two, .unimplemented)] {
      let channel = InProcessChannel(services: [ServiceRoutes(EchoService.descriptor, [route])])
      let error = await error {
        try await channel.stream(Methods.sum, .timeout(.seconds(20))) { call in
          try await call.finishSending()
          var responses = call.responses
          _ = try await responses.only()
        }
      }
      #expect(error?.code == code)
    }
  }

  @Test("A failure after some responses comes after them, with the trailers")
  func lateFailure() async throws {
    let route = MethodRoute.serverStreaming(Methods.count) {
      (_: CountRequest, responses: ResponseWriter<CountResponse>, call: CallContext) in
      call.initialMetadata = ["x-first": "1"]
      call.trailingMetadata = ["x-last": "2"]
      try await responses.write(CountResponse(number: 1))
      throw RPCError(.dataLoss, "the rest is gone", metadata: ["x-more": "3"])
    }
    let channel = InProcessChannel(services: [ServiceRoutes(EchoService.descriptor, [route])])
    try await channel.stream(Methods.count, .timeout(.seconds(20))) { call in
      try await call.send(CountRequest())
      try await call.finishSending()
      #expect(try await call.initialMetadata() == ["x-first": "1"])
      var responses = call.responses
      #expect(try await responses.next()?.number == 1)
      let error = await error { try await responses.next() }
      #expect(error?.code == .dataLoss && error?.metadata == ["x-last": "2", "x-more": "3"])
      #expect(await call.trailingMetadata() == ["x-last": "2", "x-more": "3"])
    }
  }

  @Test("A failure tells the headers that were set before it, sent or not, and nothing of another call's (JF-06)")
  func failureHeaders() async throws {
    let unary = MethodRoute.unary(Methods.echo) { (_: EchoRequest, call: CallContext) -> EchoResponse in
      call.initialMetadata = ["x-first": "1"]
      call.trailingMetadata = ["x-last": "2"]
      var error = RPCError(.notFound, "gone", metadata: ["x-more": "3"])
      error.initialMetadata = ["x-other": "4"]
      throw error
    }
    let count = MethodRoute.serverStreaming(Methods.count) {
      (_: CountRequest, responses: ResponseWriter<CountResponse>, call: CallContext) in
      call.initialMetadata = ["x-first": "1"]
      try await responses.write(CountResponse(number: 1))
      throw RPCError(.dataLoss, "the rest is gone")
    }
    let sum = MethodRoute.clientStreaming(Methods.sum) { (_: RequestStream<SumRequest>, _) -> SumResponse in
      throw RPCError(.aborted, "no headers", metadata: ["x-more": "3"])
    }
    let channel = InProcessChannel(services: [ServiceRoutes(EchoService.descriptor, [unary, count, sum])])
    let client = EchoService.Client(channel)
    let failed = await error { try await client.echo(.init(text: "x")) }
    #expect(failed?.initialMetadata == ["x-first": "1"] && failed?.metadata == ["x-last": "2", "x-more": "3"])
    let lost = await error { try await client.count(.init(to: 1)) { responses in for try await _ in responses {} } }
    #expect(lost?.code == .dataLoss && lost?.initialMetadata == ["x-first": "1"])
    let bare = await error { try await client.sum { _ in } }
    #expect(bare?.code == .aborted && bare?.initialMetadata.isEmpty == true && bare?.metadata == ["x-more": "3"])
    try await channel.stream(Methods.echo, .init()) { call in
      try await call.send(EchoRequest(text: "x"))
      try await call.finishSending()
      #expect(try await call.initialMetadata() == ["x-first": "1"])
      #expect(await call.trailingMetadata() == ["x-last": "2", "x-more": "3"])
    }
  }

  private struct Naming: ServerInterceptor {
    func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
      guard call.metadataText("x-name") != nil else { throw RPCError(.unauthenticated, "who are you?") }
      call[EchoHandlers.CallerKey.self] = call.metadataText("x-name")
      try await next(call)
    }
  }

  private struct Signing: ClientInterceptor {
    func intercept(
      _ method: MethodInfo, _ options: CallOptions, next: (CallOptions) async throws(RPCError) -> Void
    ) async throws(RPCError) {
      var options = options
      options.metadata.append("x-name", "ana")
      try await next(options)
    }
  }

  @Test("Interceptors of both sides see the call")
  func interceptors() async throws {
    try await run(interceptors: [Naming()], clientInterceptors: [Signing()]) { channel, client, _ in
      #expect(try await client.guarded().caller == "ana")
      let caller = try await channel.stream(Methods.guarded, .timeout(.seconds(20))) { call in
        try await call.send(GuardedRequest())
        try await call.finishSending()
        var responses = call.responses
        return try await responses.only().caller
      }
      #expect(caller == "ana")
    }
    try await run(interceptors: [Naming()]) { _, client, _ in
      #expect(await error { try await client.guarded() }?.code == .unauthenticated)
    }
  }
}
