import EventLoop
import RPC

/// One call of any kind: requests from the command line or as they come, responses to standard output as they come.
struct MethodCall: Sendable {
  let method: MethodInfo
  let text: MessageText
  let requests: RequestSource
  /// Whether metadata is shown.
  let isVerbose: Bool
  let loop: EventLoop

  private enum Part { case requests, responses }

  /// Makes the call.
  ///
  /// - Throws: `RPCError` with its status; `ValidationError` for a request that cannot be read, which ends the call.
  func run(on channel: some PayloadChannel, _ options: CallOptions) async throws {
    do {
      try await channel.streamPayloads(method, options) { call in
        try await withThrowingTaskGroup(of: Part.self) { parts in
          parts.addTask { try await send(to: call) }
          parts.addTask { try await receive(from: call) }
          // Responses end the call, whether or not somebody still has requests.
          while let part = try await parts.next(), part != .responses {}
          parts.cancelAll()
        }
      }
    } catch let error as RPCError {
      if isVerbose { MetadataReport.note("trailing", error.metadata) }
      throw error
    }
  }

  private func send(to call: any PayloadCall) async throws -> Part {
    do {
      try await requests.forEach(on: loop) { json in
        try await call.send(payload: try await text.payload(json, as: method.requestDescriptor))
      }
      try await call.finishSending()
    } catch is CancellationError {} catch is RPCError {
      // The call has ended; whoever receives learns how.
    }
    return .requests
  }

  private func receive(from call: any PayloadCall) async throws -> Part {
    if isVerbose { MetadataReport.note("initial", try await call.initialMetadata()) }
    while let payload = try await call.receivePayload() {
      Console.write(line: try await text.line(payload, as: method.responseDescriptor))
    }
    if isVerbose { MetadataReport.note("trailing", await call.trailingMetadata()) }
    return .responses
  }
}

extension MethodKind {
  /// Whether a call has any number of requests, not exactly one.
  var hasManyRequests: Bool { self == .clientStreaming || self == .bidirectional }
}
