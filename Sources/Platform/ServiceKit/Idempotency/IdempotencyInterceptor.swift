internal import Idempotency
internal import MessagesCore
public import RPC

/// The option `(parley.options.v1.idempotency)`, enforced: a request with a key runs once, and is answered as before when it comes again.
///
/// What a repeated request gets is what the first one got, byte for byte: a response, or a refusal that no repetition could change. After
/// any other failure it runs anew. While the first one runs it is ABORTED and told when to come again.
public struct IdempotencyInterceptor: ServerInterceptor {
  let policy: MethodPolicy
  let replay: MethodReplay<any Message>
  let runs: KeyedRuns

  /// Serves the call by way of `next`.
  public func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    let caller = try CallContext(call).caller
    let read = try await ReadCall.reading(call, policy)
    let key = replay.key(try read.message())
    guard !key.isEmpty else {
      guard replay.isKeyOptional else { throw PolicyRefusal.invalidKey("needed, 1 to 64 printable characters").rpcError() }
      return try await next(read)
    }
    switch try await runs.turn(try read.message(), key: key, read.method, of: caller, keptHours: replay.keptHours) {
    case .run(let keyed): try await run(keyed, read, next)
    case .answered(let answer): try await send(try runs.response(answer, as: policy.response), on: read)
    }
  }

  private func run(_ request: KeyedRequest, _ read: ReadCall, _ next: MethodRoute.Serve) async throws {
    read[KeyedRequest.Key.self] = request
    read.holdsResponse = true
    do { try await next(read) } catch {
      await runs.settle(request, error)
      throw error
    }
    read.holdsResponse = false
    guard let response = read.response else {
      let error = RPCError(.internal, "the handler has not answered")
      await runs.settle(request, error)
      throw error
    }
    await runs.keep(response, of: request)
    try await send(response, on: read)
  }

  private func send(_ response: some Message, on read: ReadCall) async throws(RPCError) {
    try await read.inner.unaryResponse(response)
  }
}
