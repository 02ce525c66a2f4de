internal import HTTP2
internal import MessagesCore
internal import RPC
internal import RPCWire

extension ClientLoop {
  /// How often a call is begun again that no server has begun.
  private static let maximumAttempts = 3

  /// Makes a unary call on this loop.
  func unary<Request: Message, Response: Message>(
    _ method: MethodDescriptor<Request, Response>, _ request: Request, _ options: CallOptions
  ) async throws(RPCError) -> ClientResponse<Response> {
    let plan = CallPlan(method.info, options, configuration)
    var number = 0
    while true {
      number += 1
      if plan.deadline?.hasPassed == true { throw .deadlineExceeded }
      let connection = try await connection(options, deadline: plan.deadline)
      let attempt = CallAttempt(plan, on: self)
      if attempt.start(on: connection) {
        do throws(RPCError) {
          try attempt.add(request, compressed: true)
          try attempt.finishSending()
        } catch {
          attempt.abandon(error)
        }
        await attempt.waitForEnd()
      }
      guard attempt.outcome?.isUnprocessed == true, number < Self.maximumAttempts else { return try attempt.response() }
    }
  }

  /// Begins a call of any kind.
  func begin(_ plan: CallPlan, _ options: CallOptions) async throws(RPCError) -> StreamingCall {
    var number = 0
    while true {
      number += 1
      if plan.deadline?.hasPassed == true { throw .deadlineExceeded }
      let connection = try await connection(options, deadline: plan.deadline)
      let attempt = CallAttempt(plan, on: self)
      if attempt.start(on: connection) { return StreamingCall(attempt) }
      if number == Self.maximumAttempts, let error = attempt.outcome?.error { throw error }
    }
  }
}

extension CallAttempt {
  /// The response of a unary call that has ended.
  func response<Response: Message>() throws(RPCError) -> ClientResponse<Response> {
    if let error = outcome?.error { throw error }
    guard let frame = endedMessage() else { throw .noResponse }
    let message = try take(frame) { (bytes) throws(RPCError) in try part.coding.decode(Response.self, bytes) }
    return ClientResponse(
      message, initialMetadata: initialMetadata ?? Metadata(), trailingMetadata: outcome?.trailingMetadata ?? Metadata(),
      wasCompressed: responseWasCompressed)
  }
}
