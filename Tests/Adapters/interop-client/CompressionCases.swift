import JudgeAPI
import MessagesCore
import RPC
import RPCClient

/// Messages compressed one by one, as each side asks.
enum CompressionCases {
  static let all = [
    TestCase("client_compressed_unary", clientUnary), TestCase("server_compressed_unary", serverUnary),
    TestCase("client_compressed_streaming", clientStreaming), TestCase("server_compressed_streaming", serverStreaming),
  ]

  static func clientUnary(_ stage: Stage) async throws {
    func call(compressed: Bool, said: Bool) async throws {
      let request = GRPCTesting.SimpleRequest(
        responseSize: UnaryCases.responseBytes, payload: .zeros(UnaryCases.requestBytes), expectCompressed: .init(value: said))
      let response = try await stage.unaryCall(request, .init(compression: compressed ? .gzip : .identity))
      try (response.message.payload ?? .init()).expectZeros(UnaryCases.responseBytes)
    }
    // A server that does not look at all is found out first.
    try await expectError(.invalidArgument) { try await call(compressed: false, said: true) }
    try await call(compressed: true, said: true)
    try await call(compressed: false, said: false)
  }

  static func serverUnary(_ stage: Stage) async throws {
    for compressed in [true, false] {
      let response = try await stage.unaryCall(
        .init(
          responseSize: UnaryCases.responseBytes, payload: .zeros(UnaryCases.requestBytes),
          responseCompressed: .init(value: compressed)))
      try expect(response.wasCompressed == compressed, "the response came \(compressed ? "uncompressed" : "compressed")")
      try (response.message.payload ?? .init()).expectZeros(UnaryCases.responseBytes)
    }
  }

  static func clientStreaming(_ stage: Stage) async throws {
    let sizes = [27_182, 45_904]
    func call(_ messages: [(size: Int, compressed: Bool, said: Bool)]) async throws -> Int32 {
      let options = CallOptions(compression: .gzip)
      return try await stage.channel.stream(GRPCTesting.TestService.Methods.streamingInputCall, options) { stream in
        for message in messages {
          try await stream.send(
            .init(payload: .zeros(message.size), expectCompressed: .init(value: message.said)), compressed: message.compressed)
        }
        try await stream.finishSending()
        var responses = stream.responses
        return try await responses.only().aggregatedPayloadSize
      }
    }
    try await expectError(.invalidArgument) { _ = try await call([(sizes[0], false, true)]) }
    let total = try await call([(sizes[0], true, true), (sizes[1], false, false)])
    try expect(total == sizes.reduce(0, +), "\(total) bytes counted, not \(sizes.reduce(0, +))")
  }

  static func serverStreaming(_ stage: Stage) async throws {
    let wanted: [(size: Int32, compressed: Bool)] = [(31_415, true), (92_653, false)]
    try await stage.channel.stream(GRPCTesting.TestService.Methods.streamingOutputCall, .init()) { stream in
      try await stream.send(
        .init(responseParameters: wanted.map { .init(size: $0.size, compressed: .init(value: $0.compressed)) }))
      try await stream.finishSending()
      var responses = stream.responses
      for (size, compressed) in wanted {
        guard let response = try await responses.next() else { throw CaseFailure("the stream ended before its time") }
        try (response.payload ?? .init()).expectZeros(size)
        let came = await stream.responseWasCompressed()
        try expect(came == compressed, "the response of \(size) bytes came \(came ? "compressed" : "uncompressed")")
      }
      try expect(try await responses.next() == nil, "more responses than asked for")
    }
  }
}
