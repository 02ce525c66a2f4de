import JudgeAPI
import MessagesCore
import RPC
import RPCClient

/// Many messages, one way or both.
enum StreamCases {
  static let all = [
    TestCase("client_streaming", clientStreaming), TestCase("server_streaming", serverStreaming),
    TestCase("ping_pong", pingPong), TestCase("empty_stream", emptyStream), TestCase("half_duplex", halfDuplex),
    TestCase("slow_consumer", slowConsumer),
  ]

  private static let requestSizes = [27_182, 8, 1_828, 45_904]
  private static let responseSizes: [Int32] = [31_415, 9, 2_653, 58_979]

  static func clientStreaming(_ stage: Stage) async throws {
    let response = try await stage.channel.stream(GRPCTesting.TestService.Methods.streamingInputCall, .init()) { stream in
      for size in requestSizes { try await stream.send(.init(payload: .zeros(size))) }
      try await stream.finishSending()
      var responses = stream.responses
      return try await responses.only()
    }
    let total = requestSizes.reduce(0, +)
    try expect(response.aggregatedPayloadSize == total, "\(response.aggregatedPayloadSize) bytes counted, not \(total)")
  }

  static func serverStreaming(_ stage: Stage) async throws {
    try await stage.channel.stream(GRPCTesting.TestService.Methods.streamingOutputCall, .init()) { stream in
      try await stream.send(.init(responseParameters: responseSizes.map { .init(size: $0) }))
      try await stream.finishSending()
      try await expectResponses(stream.responses)
    }
  }

  static func pingPong(_ stage: Stage) async throws {
    try await stage.channel.stream(GRPCTesting.TestService.Methods.fullDuplexCall, .init()) { stream in
      var responses = stream.responses
      for (request, response) in zip(requestSizes, responseSizes) {
        try await stream.send(.init(responseParameters: [.init(size: response)], payload: .zeros(request)))
        guard let answer = try await responses.next() else { throw CaseFailure("the stream ended before its time") }
        try (answer.payload ?? .init()).expectZeros(response)
      }
      try await stream.finishSending()
      try expect(try await responses.next() == nil, "more responses than requests")
    }
  }

  static func emptyStream(_ stage: Stage) async throws {
    try await stage.channel.stream(GRPCTesting.TestService.Methods.fullDuplexCall, .init()) { stream in
      try await stream.finishSending()
      var responses = stream.responses
      try expect(try await responses.next() == nil, "a response without a request")
    }
  }

  static func halfDuplex(_ stage: Stage) async throws {
    try await stage.channel.stream(GRPCTesting.TestService.Methods.halfDuplexCall, .init()) { stream in
      for size in responseSizes { try await stream.send(.init(responseParameters: [.init(size: size)])) }
      try await stream.finishSending()
      try await expectResponses(stream.responses)
    }
  }

  /// 2,000 small responses, read with pauses: the windows must hold the server back and let it go on.
  static func slowConsumer(_ stage: Stage) async throws {
    let count = 2_000
    let size: Int32 = 1_030
    try await stage.channel.stream(GRPCTesting.TestService.Methods.streamingOutputCall, .init()) { stream in
      try await stream.send(.init(responseParameters: Array(repeating: .init(size: size), count: count)))
      try await stream.finishSending()
      var received = 0
      for try await response in stream.responses {
        try (response.payload ?? .init()).expectZeros(size)
        received += 1
        if received.isMultiple(of: 40) { try await Task.sleep(for: .milliseconds(20)) }
      }
      try expect(received == count, "\(received) responses, not \(count)")
    }
  }

  private static func expectResponses(_ responses: ResponseStream<GRPCTesting.StreamingOutputCallResponse>) async throws {
    var received = 0
    for try await response in responses {
      try expect(received < responseSizes.count, "more than \(responseSizes.count) responses")
      try (response.payload ?? .init()).expectZeros(responseSizes[received])
      received += 1
    }
    try expect(received == responseSizes.count, "\(received) responses, not \(responseSizes.count)")
  }
}
