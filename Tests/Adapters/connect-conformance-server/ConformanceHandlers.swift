import ConnectConformance
import JudgeAPI
import MessagesCore
import RPC

/// `ConformanceService`: does what each request asks for.
struct ConformanceHandlers: Judged.ConformanceService.Handlers {
  func unary(_ request: Judged.UnaryRequest, _ call: CallContext) async throws -> Judged.UnaryResponse {
    var info = RequestInfo(call)
    try info.add(request)
    return .init(payload: try await answer(request.responseDefinition, info, call))
  }

  func idempotentUnary(
    _ request: Judged.IdempotentUnaryRequest, _ call: CallContext
  ) async throws -> Judged.IdempotentUnaryResponse {
    var info = RequestInfo(call)
    try info.add(request)
    return .init(payload: try await answer(request.responseDefinition, info, call))
  }

  func clientStream(
    _ requests: RequestStream<Judged.ClientStreamRequest>, _ call: CallContext
  ) async throws -> Judged.ClientStreamResponse {
    var info = RequestInfo(call)
    var first: Judged.ClientStreamRequest?
    for try await request in requests {
      try info.add(request)
      first = first ?? request
    }
    return .init(payload: try await answer(first?.responseDefinition, info, call))
  }

  func serverStream(
    _ request: Judged.ServerStreamRequest, _ responses: ResponseWriter<Judged.ServerStreamResponse>,
    _ call: CallContext
  ) async throws {
    var info = RequestInfo(call)
    try info.add(request)
    var script = try StreamScript(request.responseDefinition, call)
    while let data = try await script.next() {
      try await responses.write(.init(payload: script.isFirst ? info.payload(data) : .init(data: data)))
    }
    try script.end(info)
  }

  func bidiStream(
    _ requests: RequestStream<Judged.BidiStreamRequest>, _ responses: ResponseWriter<Judged.BidiStreamResponse>,
    _ call: CallContext
  ) async throws {
    var requests = requests
    var info = RequestInfo(call)
    var script: StreamScript?
    var isFullDuplex = false
    while let request = try await requests.next() {
      try info.add(request)
      if script == nil {
        script = try StreamScript(request.responseDefinition, call)
        isFullDuplex = request.fullDuplex
      }
      guard isFullDuplex else { continue }
      // A request that finds no answer left ends the call, with the error if there is one.
      guard let data = try await script?.next() else { break }
      let payload = script?.isFirst == true ? info.payload(data) : try RequestInfo.payload(data, echoing: request)
      try await responses.write(.init(payload: payload))
    }
    while let data = try await script?.next() {
      try await responses.write(.init(payload: script?.isFirst == true ? info.payload(data) : .init(data: data)))
    }
    try script?.end(info)
  }

  func unimplemented(
    _ request: Judged.UnimplementedRequest, _ call: CallContext
  ) async throws -> Judged.UnimplementedResponse {
    throw RPCError(.unimplemented, "this method is not implemented, as it should be")
  }

  /// The one answer of a call that has one.
  private func answer(
    _ definition: Judged.UnaryResponseDefinition?, _ info: RequestInfo, _ call: CallContext
  ) async throws -> Judged.ConformancePayload {
    guard let definition else { return info.payload() }
    guard definition.rawResponse == nil else { throw RPCError.rawResponse }
    call.initialMetadata.append(contentsOf: try Metadata(definition.responseHeaders))
    call.trailingMetadata.append(contentsOf: try Metadata(definition.responseTrailers))
    if definition.responseDelayMs > 0 { try await Task.sleep(for: .milliseconds(definition.responseDelayMs)) }
    switch definition.response {
    case .error(let error): throw try info.error(error)
    case .responseData(let data): return info.payload(data)
    case nil: return info.payload()
    }
  }
}
