internal import EventLoop
internal import MessagesCore
internal import RPC

/// A call of any kind as its user holds it, on any task; all work is done on the loop of its connection.
final class StreamingCall: ClientCall, PayloadCall {
  private let call: RetriedCall
  private let loop: EventLoop

  init(_ call: RetriedCall) {
    self.call = call
    loop = call.part.loop
  }

  // MARK: Sending

  func send<M: Message>(_ message: M, compressed: Bool) async throws(RPCError) {
    try await work { () async throws(RPCError) in
      try await self.call.send { (attempt) throws(RPCError) in try attempt.add(message, compressed: compressed) }
    }
  }

  func send(payload: [UInt8]) async throws(RPCError) {
    try await work { () async throws(RPCError) in
      try await self.call.send { (attempt) throws(RPCError) in try attempt.add(payload: payload, compressed: true) }
    }
  }

  func finishSending() async throws(RPCError) {
    try await work { () async throws(RPCError) in try await self.call.finishSending() }
  }

  // MARK: Receiving

  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M? {
    try await work { () async throws(RPCError) in
      try await self.call.receive { (attempt) async throws(RPCError) in try await attempt.receive(type) }
    }
  }

  func receivePayload() async throws(RPCError) -> [UInt8]? {
    try await work { () async throws(RPCError) in
      try await self.call.receive { (attempt) async throws(RPCError) in try await attempt.receivePayload() }
    }
  }

  func initialMetadata() async throws(RPCError) -> Metadata {
    try await work { () async throws(RPCError) in try await self.call.headers() }
  }

  func trailingMetadata() async -> Metadata {
    await loop.visit(ifStopped: Metadata()) { self.call.attempt.outcome?.trailingMetadata ?? Metadata() }
  }

  func responseWasCompressed() async -> Bool { await loop.visit(ifStopped: false) { self.call.attempt.responseWasCompressed } }

  // MARK: The end

  func cancel() {
    let isTaken = onLoop { self.call.cancel() }
    if !isTaken { call.loopHasEnded() }
  }

  /// The scope of the call is over: whatever still goes on ends.
  func leave() { onLoop { self.call.leave() } }

  /// Works on the loop. When the task that waits for it is cancelled, the call is: nothing else would end the wait.
  private func work<Value: Sendable>(
    _ body: @Sendable () async throws(RPCError) -> Value
  ) async throws(RPCError) -> Value {
    let result: Result<Value, RPCError> = await withTaskCancellationHandler {
      do throws(RPCError) { return .success(try await loop.visit(body)) } catch { return .failure(error) }
    } onCancel: {
      cancel()
    }
    return try result.get()
  }

  /// Whether the loop has done it, or will; false once it has ended.
  @discardableResult
  private func onLoop(_ body: @escaping @Sendable () -> Void) -> Bool {
    guard loop.isCurrent else { return loop.execute(body) }
    body()
    return true
  }
}
