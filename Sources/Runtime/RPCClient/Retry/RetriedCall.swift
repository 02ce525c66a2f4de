internal import RPC
internal import RPCWire

/// A call of any kind, in as many attempts as it takes.
///
/// What the caller sends goes to the attempt under way and into a replay buffer. When an attempt fails before its response has
/// begun, whoever sends or receives next has the following one made, with everything that was sent so far, and goes on there.
// SAFETY: used on its loop only; who comes from elsewhere hops there first.
final class RetriedCall: @unchecked Sendable {
  let part: ClientLoop
  /// The attempt under way, or the last one.
  private(set) var attempt: CallAttempt
  private let replay: ReplayBuffer
  private let series: RetrySeries
  private var hasFinishedSending = false
  private var isOver = false
  /// The attempt that was found to be the last, and what its callers are told if it is not its own error.
  private var last: CallAttempt?
  private var failure: RPCError?
  private var isRecovering = false
  private var bystanders: [UnsafeContinuation<Void, Never>] = []

  private init(_ attempt: CallAttempt, _ replay: ReplayBuffer, _ series: RetrySeries) {
    self.attempt = attempt
    self.replay = replay
    self.series = series
    part = attempt.part
  }

  /// Begins a call.
  static func begin(_ plan: CallPlan, on part: ClientLoop) async throws(RPCError) -> RetriedCall {
    let replay = ReplayBuffer(limit: part.configuration.retryBufferBytes)
    // The body of such a call is known with its one message, and its headers with its body: nothing that could be replayed.
    if plan.wire == .connectUnary { replay.discard() }
    let series = RetrySeries(plan, on: part)
    do throws(RPCError) {
      return RetriedCall(try await start(part, series, replay), replay, series)
    } catch {
      plan.observation?.callEnds(error)
      throw error
    }
  }

  /// Makes attempts until one is on its way.
  private static func start(
    _ part: ClientLoop, _ series: RetrySeries, _ replay: ReplayBuffer
  ) async throws(RPCError) -> CallAttempt {
    while true {
      var outcome: CallOutcome
      do throws(RPCError) {
        let attempt = try await part.startAttempt(series.plan, replay)
        guard let end = attempt.outcome else { return attempt }
        outcome = end
      } catch {
        outcome = .failure(error, part.noConnectionReach(error))
      }
      if let error = outcome.error, try await !series.goesOn(after: outcome) { throw error }
    }
  }

  // MARK: Messages

  /// Adds a request by `add`, and waits for room.
  func send(_ add: (CallAttempt) throws(RPCError) -> Void) async throws(RPCError) {
    var isAdded = false
    while true {
      let current = attempt
      do throws(RPCError) {
        if !isAdded {
          try add(current)
          isAdded = true
        }
        return try await current.waitForRoom()
      } catch {
        guard try await recover(from: current) else { throw failure ?? error }
      }
    }
  }

  /// Says that no request follows.
  func finishSending() async throws(RPCError) {
    hasFinishedSending = true
    while true {
      let current = attempt
      do throws(RPCError) { return try current.finishSending() } catch {
        guard try await recover(from: current) else { throw failure ?? error }
      }
    }
  }

  /// Takes from the response by `take`.
  func receive<Value: Sendable>(_ take: (CallAttempt) async throws(RPCError) -> Value) async throws(RPCError) -> Value {
    while true {
      let current = attempt
      do throws(RPCError) { return try await take(current) } catch {
        guard try await recover(from: current) else { throw failure ?? error }
      }
    }
  }

  /// The headers of the response, as soon as they have come.
  func headers() async throws(RPCError) -> Metadata {
    while true {
      let current = attempt
      let headers = try await receive { (attempt) async throws(RPCError) in try await attempt.headers() }
      // What came with nothing but a failure is not the call's while there is another attempt.
      guard let outcome = current.outcome, outcome.error != nil, outcome.reach != .committed else { return headers }
      guard try await recover(from: current) else { return headers }
    }
  }

  // MARK: Another attempt

  /// Puts another attempt in the place of one that has failed.
  ///
  /// - Returns: Whether there is one; else the failure counts.
  private func recover(from failed: CallAttempt) async throws(RPCError) -> Bool {
    while isRecovering { await withUnsafeContinuation { bystanders.append($0) } }
    guard failed === attempt else { return true }
    guard failed !== last, let outcome = failed.outcome, outcome.error != nil else { return false }
    isRecovering = true
    defer {
      isRecovering = false
      for bystander in bystanders { bystander.resume() }
      bystanders = []
    }
    do throws(RPCError) {
      if isOver && outcome.reach != .committed { throw RPCError(.cancelled, "the call was cancelled") }
      guard replay.isComplete || outcome.reach == .committed, try await series.goesOn(after: outcome) else {
        last = failed
        return false
      }
      let next = try await Self.start(part, series, replay)
      next.send(replay)
      attempt = next
      // A failure of it is found by whoever uses it next.
      if hasFinishedSending { do throws(RPCError) { try next.finishSending() } catch {} }
      if isOver { next.leave() }
      return true
    } catch {
      last = failed
      failure = error
      return false
    }
  }

  // MARK: The end

  func cancel() {
    isOver = true
    series.end()
    attempt.abandon(RPCError(.cancelled, "the call was cancelled"))
  }

  /// Lets go of whoever waits, once the loop has ended.
  func loopHasEnded() {
    isOver = true
    series.end()
    attempt.loopHasEnded()
  }

  /// Nobody is interested any more.
  func leave() {
    if !isOver, let outcome = attempt.outcome, outcome.error == nil { part.context.throttle?.succeeded() }
    isOver = true
    series.end()
    // One that is left before it has ended counts as given up, as its server sees it.
    attempt.leave()
    attempt.plan.observation?.callEnds(failure ?? attempt.outcome?.error)
  }
}
