import JudgeAPI
import MessagesCore
import RPC
import RPCClient

/// One request, one response.
enum UnaryCases {
  static let all = [
    TestCase("empty_unary", empty), TestCase("large_unary", large), TestCase("custom_metadata", customMetadata),
    TestCase("pick_first_unary", pickFirst),
  ]

  static let requestBytes = 271_828
  static let responseBytes: Int32 = 314_159

  static func empty(_ stage: Stage) async throws {
    let response = try await stage.channel.unary(GRPCTesting.TestService.Methods.emptyCall, .init(), .init())
    try expect(response.message == .init(), "the response is not empty")
  }

  static func large(_ stage: Stage) async throws {
    let response = try await stage.unaryCall(.init(responseSize: responseBytes, payload: .zeros(requestBytes)))
    try (response.message.payload ?? .init()).expectZeros(responseBytes)
  }

  static func customMetadata(_ stage: Stage) async throws {
    let text = "test_initial_metadata_value"
    let bytes: [UInt8] = [0xab, 0xab, 0xab]
    var options = CallOptions()
    options.metadata.append("x-grpc-test-echo-initial", text)
    options.metadata.append("x-grpc-test-echo-trailing-bin", bytes)

    func check(_ initial: Metadata, _ trailing: Metadata, _ kind: String) throws(CaseFailure) {
      try expect(initial["x-grpc-test-echo-initial"] == text, "\(kind): the initial metadata did not come back")
      try expect(
        trailing.binary("x-grpc-test-echo-trailing-bin") == bytes, "\(kind): the trailing metadata did not come back")
    }
    let response = try await stage.unaryCall(
      .init(responseSize: responseBytes, payload: .zeros(requestBytes)), options)
    try check(response.initialMetadata, response.trailingMetadata, "unary")

    let metadata = try await stage.channel.stream(GRPCTesting.TestService.Methods.fullDuplexCall, options) { stream in
      try await stream.send(
        .init(responseParameters: [.init(size: responseBytes)], payload: .zeros(requestBytes)))
      try await stream.finishSending()
      for try await response in stream.responses { try (response.payload ?? .init()).expectZeros(responseBytes) }
      return (try await stream.initialMetadata(), await stream.trailingMetadata())
    }
    try check(metadata.0, metadata.1, "full duplex")
  }

  static func pickFirst(_ stage: Stage) async throws {
    var first: String?
    for number in 1...100 {
      let id = try await stage.unaryCall(.init(fillServerID: true)).message.serverID
      try expect(id == first ?? id, "call \(number) went to the server \(id), not to \(first ?? "")")
      first = id
    }
  }
}
