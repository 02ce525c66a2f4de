internal import EventLoop
internal import MessagesCore
internal import RPC

/// A call of any kind as its user holds it, on any task; all work is done on the loop of its connection.
final class StreamingCall: ClientCall, PayloadCall {
  private let attempt: CallAttempt
  private let loop: EventLoop

  init(_ attempt: CallAttempt) {
    self.attempt = attempt
    loop = attempt.part.loop
  }

  // MARK: Sending

  func send<M: Message>(_ message: M, compressed: Bool) async throws(RPCError) {
    try await loop.visit { () async throws(RPCError) in
      try self.attempt.add(message, compressed: compressed)
      try await self.attempt.waitForRoom()
    }
  }

  func send(payload: [UInt8]) async throws(RPCError) {
    try await loop.visit { () async throws(RPCError) in
      try self.attempt.add(payload: payload, compressed: true)
      try await self.attempt.waitForRoom()
    }
  }

  func finishSending() async throws(RPCError) {
    try await loop.visit { () async throws(RPCError) in try self.attempt.finishSending() }
  }

  // MARK: Receiving

  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M? {
    try await loop.visit { () async throws(RPCError) in try await self.attempt.receive(type) }
  }

  func receivePayload() async throws(RPCError) -> [UInt8]? {
    try await loop.visit { () async throws(RPCError) in try await self.attempt.receivePayload() }
  }

  func initialMetadata() async throws(RPCError) -> Metadata {
    try await loop.visit { () async throws(RPCError) in try await self.attempt.headers() }
  }

  func trailingMetadata() async -> Metadata {
    await loop.visit { self.attempt.outcome?.trailingMetadata ?? Metadata() }
  }

  func responseWasCompressed() async -> Bool { await loop.visit { self.attempt.responseWasCompressed } }

  // MARK: The end

  func cancel() {
    onLoop { self.attempt.abandon(RPCError(.cancelled, "the call was cancelled")) }
  }

  /// The scope of the call is over: whatever still goes on ends.
  func leave() { onLoop { self.attempt.leave() } }

  private func onLoop(_ body: @escaping @Sendable () -> Void) {
    if loop.isCurrent { body() } else { loop.execute(body) }
  }
}
