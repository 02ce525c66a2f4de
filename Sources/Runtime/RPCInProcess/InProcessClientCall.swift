internal import MessagesCore
internal import RPC
internal import Synchronization

/// A call as its caller sees it.
final class InProcessClientCall: ClientCall {
  private let call: InProcessCall

  init(_ call: InProcessCall) { self.call = call }

  /// Runs `body`; the call ends with it, and with the cancellation of its task.
  func scoped<Value: Sendable, Failure: Error>(
    _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withTaskCancellationHandler {
      do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    } onCancel: {
      cancel()
    }
    cancel()
    return try result.get()
  }

  func send<M: Message>(_ message: M, compressed: Bool) async throws(RPCError) {
    if call.method.kind == .unary, !isFirstRequest() {
      call.end(RPCError(.unimplemented, "the call has more than one request message"))
    }
    guard await waiting({ await call.requests.send(message) }) else { throw ended }
  }

  func finishSending() async throws(RPCError) {
    // As over a connection: how the call ends from here on is told with its responses, however soon that is.
    let outcome = call.state.withLock { $0.outcome }
    call.requests.finish()
    call.requestIsWhole()
    if case .failure(let error)? = outcome { throw error }
  }

  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M? {
    if call.hasOneResponse {
      // Its status decides whether the response counts.
      await waiting { await call.wait { $0.outcome != nil } }
      if case .failure(let error)? = call.state.withLock({ $0.outcome }) { throw error }
    }
    let next: Result<(any Message)?, RPCError> = await waiting {
      do throws(RPCError) { return .success(try await call.responses.receive()) } catch { return .failure(error) }
    }
    guard let message = try next.get() else { return nil }
    guard let response = message as? M else {
      throw RPCError(.internal, "the response is a \(Swift.type(of: message)), not a \(type)")
    }
    return response
  }

  func initialMetadata() async throws(RPCError) -> Metadata {
    await waiting { await call.wait { $0.sentMetadata != nil || $0.outcome != nil } }
    let (metadata, outcome) = call.state.withLock { ($0.sentMetadata, $0.outcome) }
    if let metadata { return metadata }
    if case .failure(let error)? = outcome { throw error }
    return Metadata()
  }

  func trailingMetadata() async -> Metadata {
    call.state.withLock { state in
      switch state.outcome {
      case nil: Metadata()
      case .success: state.trailingMetadata.transmitted
      case .failure(let error): error.metadata
      }
    }
  }

  func responseWasCompressed() async -> Bool { false }

  func cancel() { call.abandon(RPCError(.cancelled, "the call was cancelled")) }

  /// Waits. When the task that waits is cancelled, the call is: nothing else would end the wait.
  private func waiting<Value: Sendable>(_ body: () async -> Value) async -> Value {
    await withTaskCancellationHandler(operation: body) { cancel() }
  }

  private func isFirstRequest() -> Bool {
    call.state.withLock { state in
      state.requests += 1
      return state.requests == 1
    }
  }

  /// What a caller is told that sends on a call which has ended.
  private var ended: RPCError {
    guard case .failure(let error)? = call.state.withLock({ $0.outcome }) else {
      return RPCError(.cancelled, "the server has ended the call", cause: CallHasEnded())
    }
    return error
  }
}
