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
    let (faults, fault) = AsyncStream.makeStream(of: (any Error).self)
    do {
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask {
          defer { fault.finish() }
          try await exchange(on: channel, options, fault)
        }
        // A request that cannot be read ends the call by cancelling the task that made it.
        for await error in faults { throw error }
        try await tasks.waitForAll()
      }
    } catch let error as RPCError {
      if isVerbose { MetadataReport.note("trailing", error.metadata) }
      throw error
    }
  }

  private func exchange(
    on channel: some PayloadChannel, _ options: CallOptions, _ fault: AsyncStream<any Error>.Continuation
  ) async throws {
    try await channel.streamPayloads(method, options) { call in
      try await withThrowingTaskGroup(of: Part.self) { parts in
        parts.addTask {
          do { return try await send(to: call) } catch {
            fault.yield(error)
            return .requests
          }
        }
        parts.addTask { try await receive(from: call) }
        // Responses end the call, whether or not somebody still has requests.
        while let part = try await parts.next(), part != .responses {}
        parts.cancelAll()
      }
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
