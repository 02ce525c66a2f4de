import JudgeAPI
import MessagesCore
import RPC

/// `grpc.testing.TestService`: does what each request asks for.
struct TestServiceHandlers: GRPCTesting.TestService.Handlers {
  /// Sent to who asks which process answers.
  let serverID: String

  func emptyCall(_ request: GRPCTesting.Empty, _ call: CallContext) async throws -> GRPCTesting.Empty { .init() }

  func unaryCall(_ request: GRPCTesting.SimpleRequest, _ call: CallContext) async throws -> GRPCTesting.SimpleResponse {
    try request.expectCompressed?.check(call)
    try request.responseStatus?.end()
    var response = GRPCTesting.SimpleResponse()
    response.payload = try .zeros(request.responseSize)
    if let compressed = request.responseCompressed { call.responseCompression = compressed.compression }
    if request.fillServerID { response.serverID = serverID }
    return response
  }

  func cacheableUnaryCall(_ request: GRPCTesting.SimpleRequest, _ call: CallContext) async throws -> GRPCTesting.SimpleResponse {
    try await unaryCall(request, call)
  }

  func streamingOutputCall(
    _ request: GRPCTesting.StreamingOutputCallRequest,
    _ responses: ResponseWriter<GRPCTesting.StreamingOutputCallResponse>, _ call: CallContext
  ) async throws {
    try await answer(request, responses, call)
  }

  func streamingInputCall(
    _ requests: RequestStream<GRPCTesting.StreamingInputCallRequest>, _ call: CallContext
  ) async throws -> GRPCTesting.StreamingInputCallResponse {
    var total = 0
    for try await request in requests {
      try request.expectCompressed?.check(call)
      total += request.payload?.body.count ?? 0
    }
    return .init(aggregatedPayloadSize: Int32(clamping: total))
  }

  func fullDuplexCall(
    _ requests: RequestStream<GRPCTesting.StreamingOutputCallRequest>,
    _ responses: ResponseWriter<GRPCTesting.StreamingOutputCallResponse>, _ call: CallContext
  ) async throws {
    for try await request in requests { try await answer(request, responses, call) }
  }

  func halfDuplexCall(
    _ requests: RequestStream<GRPCTesting.StreamingOutputCallRequest>,
    _ responses: ResponseWriter<GRPCTesting.StreamingOutputCallResponse>, _ call: CallContext
  ) async throws {
    var received: [GRPCTesting.StreamingOutputCallRequest] = []
    for try await request in requests {
      guard received.count < 10_000 else { throw RPCError(.resourceExhausted, "more requests than are kept: 10000") }
      received.append(request)
    }
    for request in received { try await answer(request, responses, call) }
  }

  func unimplementedCall(_ request: GRPCTesting.Empty, _ call: CallContext) async throws -> GRPCTesting.Empty {
    throw RPCError(.unimplemented, "this method is not implemented, as it should be")
  }

  /// The responses that one request lists, each after its interval; then the status, if one is wanted.
  private func answer(
    _ request: GRPCTesting.StreamingOutputCallRequest,
    _ responses: ResponseWriter<GRPCTesting.StreamingOutputCallResponse>, _ call: CallContext
  ) async throws {
    // Before the first message, since the headers that go with it name what later ones may be compressed with.
    if request.responseParameters.contains(where: { $0.compressed?.value == true }) { call.responseCompression = .gzip }
    for wanted in request.responseParameters {
      if let compressed = wanted.compressed { call.responseCompression = compressed.compression }
      if wanted.intervalUs > 0 { try await Task.sleep(for: .microseconds(Int64(wanted.intervalUs))) }
      try await responses.write(.init(payload: .zeros(wanted.size)))
    }
    try request.responseStatus?.end()
  }
}
