import JudgeAPI
import MessagesCore
import RPC
import RPCClient

/// Calls that end otherwise than with success.
enum EndingCases {
  static let all = [
    TestCase("cancel_after_begin", cancelAfterBegin), TestCase("cancel_after_first_response", cancelAfterFirstResponse),
    TestCase("timeout_on_sleeping_server", timeoutOnSleepingServer),
    TestCase("status_code_and_message") { try await status("test status message", on: $0) },
    TestCase("special_status_message") {
      try await status("\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n", on: $0, isStreamed: false)
    },
    TestCase("unimplemented_method", unimplementedMethod), TestCase("unimplemented_service", unimplementedService),
  ]

  static func cancelAfterBegin(_ stage: Stage) async throws {
    try await expectError(.cancelled) {
      try await stage.channel.stream(GRPCTesting.TestService.Methods.streamingInputCall, .init()) { stream in
        stream.cancel()
        var responses = stream.responses
        _ = try await responses.next()
      }
    }
  }

  static func cancelAfterFirstResponse(_ stage: Stage) async throws {
    try await stage.channel.stream(GRPCTesting.TestService.Methods.fullDuplexCall, .init()) { stream in
      var responses = stream.responses
      try await stream.send(.init(responseParameters: [.init(size: 31_415)], payload: .zeros(27_182)))
      guard let response = try await responses.next() else { throw CaseFailure("the stream ended before its time") }
      try (response.payload ?? .init()).expectZeros(31_415)
      stream.cancel()
      try await expectError(.cancelled) { _ = try await responses.next() }
    }
  }

  static func timeoutOnSleepingServer(_ stage: Stage) async throws {
    try await expectError(.deadlineExceeded) {
      let options = CallOptions.timeout(.milliseconds(1))
      try await stage.channel.stream(GRPCTesting.TestService.Methods.fullDuplexCall, options) { stream in
        // The call may be over before the request is sent; how it ended is heard from its responses.
        try? await stream.send(.init(payload: .zeros(27_182)))
        var responses = stream.responses
        _ = try await responses.next()
      }
    }
  }

  private static func status(_ message: String, on stage: Stage, isStreamed: Bool = true) async throws {
    func check(_ error: RPCError, _ kind: String) throws(CaseFailure) {
      try expect(error.message == message, "\(kind): the message came as \(error.message.debugDescription)")
    }
    let status = GRPCTesting.EchoStatus(code: 2, message: message)
    try check(try await expectError(.unknown) { _ = try await stage.unaryCall(.init(responseStatus: status)) }, "unary")
    guard isStreamed else { return }
    let error = try await expectError(.unknown) {
      try await stage.channel.stream(GRPCTesting.TestService.Methods.fullDuplexCall, .init()) { stream in
        try await stream.send(.init(responseStatus: status))
        try await stream.finishSending()
        for try await _ in stream.responses {}
      }
    }
    try check(error, "full duplex")
  }

  static func unimplementedMethod(_ stage: Stage) async throws {
    try await expectError(.unimplemented) {
      _ = try await stage.channel.unary(GRPCTesting.TestService.Methods.unimplementedCall, .init(), .init())
    }
  }

  static func unimplementedService(_ stage: Stage) async throws {
    try await expectError(.unimplemented) {
      _ = try await stage.channel.unary(GRPCTesting.UnimplementedService.Methods.unimplementedCall, .init(), .init())
    }
  }
}
