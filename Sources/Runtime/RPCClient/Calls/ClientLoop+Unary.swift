internal import HTTP2
internal import MessagesCore
internal import RPC
internal import RPCWire

extension ClientLoop {
  /// Makes a unary call on this loop, in as many attempts as it takes.
  func unary<Request: Message, Response: Message>(
    _ method: MethodDescriptor<Request, Response>, _ request: Request, _ options: CallOptions
  ) async throws(RPCError) -> ClientResponse<Response> {
    let plan = try CallPlan(method.info, options, context)
    guard let observation = plan.observation else { return try await unary(plan, request) }
    do throws(RPCError) {
      let response: ClientResponse<Response> = try await unary(plan, request)
      observation.callEnds(nil)
      return response
    } catch {
      observation.callEnds(error)
      throw error
    }
  }

  private func unary<Request: Message, Response: Message>(
    _ plan: CallPlan, _ request: Request
  ) async throws(RPCError) -> ClientResponse<Response> {
    var (attempt, outcome) = await unaryAttempt(plan, request)
    if outcome.error != nil {
      let series = RetrySeries(plan, on: self)
      while let error = outcome.error {
        guard try await series.goesOn(after: outcome) else { throw error }
        (attempt, outcome) = await unaryAttempt(series.plan, request)
      }
    }
    context.throttle?.succeeded()
    guard let attempt else { throw .noResponse }
    return try attempt.response()
  }

  /// One attempt, to its end; none when there is no connection to make it on.
  private func unaryAttempt<Request: Message>(_ plan: CallPlan, _ request: Request) async -> (CallAttempt?, CallOutcome) {
    do throws(RPCError) {
      let attempt = try await startAttempt(plan)
      if attempt.outcome == nil {
        do throws(RPCError) {
          try attempt.add(request, compressed: true)
          try attempt.finishSending()
        } catch {
          attempt.abandon(error)
        }
        await attempt.waitForEnd()
      }
      return (attempt, attempt.outcome.unsafelyUnwrapped)
    } catch {
      return (nil, .failure(error, noConnectionReach(error)))
    }
  }

  /// Begins an attempt on a connection, which may end it at once.
  func startAttempt(_ plan: CallPlan, _ replay: ReplayBuffer? = nil) async throws(RPCError) -> CallAttempt {
    if plan.deadline?.hasPassed == true { throw .deadlineExceeded }
    let connection = try await connection(waitsForReady: plan.waitsForReady, deadline: plan.deadline)
    var plan = plan
    plan.observation?.attemptBegins(previousAttempts: plan.previousAttempts, metadata: &plan.metadata)
    let attempt = CallAttempt(plan, on: self)
    attempt.replay = replay
    _ = attempt.start(on: connection)
    return attempt
  }

  /// Whether another attempt may follow one that got no connection: a policy for UNAVAILABLE covers that.
  func noConnectionReach(_ error: RPCError) -> RetryState.Reach {
    error.code == .unavailable && !isClosed ? .processed : .committed
  }
}

extension CallAttempt {
  /// The response of a unary call that has ended.
  func response<Response: Message>() throws(RPCError) -> ClientResponse<Response> {
    if let error = outcome?.error { throw error }
    guard let frame = endedMessage() else { throw .noResponse }
    let message = try take(frame) { (bytes) throws(RPCError) in try part.coding.response(Response.self, bytes, plan.codec) }
    return ClientResponse(
      message, initialMetadata: initialMetadata ?? Metadata(), trailingMetadata: outcome?.trailingMetadata ?? Metadata(),
      wasCompressed: responseWasCompressed)
  }
}
