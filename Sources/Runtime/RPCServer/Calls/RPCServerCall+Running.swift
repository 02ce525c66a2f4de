internal import Buffers
internal import EventLoop
internal import HTTP2
internal import RPC
internal import RPCWire

/// The handler's task, from its start to its end.
extension RPCServerCall {
  /// Runs the handler; it may be done when this returns.
  func start() {
    guard server.hasRoom(on: stream), server.runningHandlers.take(1) else { return shed(.runningHandlers) }
    isRunning = true
    hasBegun = true
    if let observer = server.observer {
      begun = MonotonicInstant.now().nanoseconds
      observer.callBegins(self)
    }
    server.running.began(RunningHandlers.name(route.unsafelyUnwrapped.method))
    // One async frame instead of two: each costs the runtime a look-up of the executor, and this is the hot path.
    let task = Task.immediate(executorPreference: server.loop) {
      do {
        if self.deadline?.hasPassed == true { throw RPCError.deadlineExceeded }
        try await CallContext.$current.withValue(CallContext(self)) { try await self.route.unsafelyUnwrapped.serve(self) }
        self.ended(nil)
      } catch {
        self.ended(error)
      }
    }
    guard isRunning else { return server.running.finished() }
    self.task = task
    server.running.suspended(task)
    home = stream?.connection
    home?.runningHandlers += 1
    client = stream?.client
    client?.runningHandlers += 1
  }

  private func ended(_ error: (any Error)?) {
    server.loop.assertInLoop()
    if let observer = server.observer { observer.callEnds(self, since: begun, error) }
    isRunning = false
    // Whoever ended the call may have done so before its handler was reached.
    if beginsAtHeaders { letGoOfRequest() }
    server.runningHandlers.giveBack(1)
    if let task { server.running.ended(task) }
    task = nil
    if let home {
      home.runningHandlers -= 1
      self.home = nil
      client?.runningHandlers -= 1
      client = nil
    }
    stopClock()
    // A task that outlives its handler and still waits for a request or for room would wait for ever.
    defer { if !receivers.isEmpty || !writers.isEmpty { wakeWaiters() } }
    guard !isAnswered else { return }
    if let error {
      fail(rpcError(error))
    } else if !hasResponse && kind != .serverStreaming && kind != .bidirectional {
      fail(RPCError(.internal, "the handler returned without a response"))
    } else {
      succeed()
    }
  }

  /// What the caller is told of an error: as much as it was meant to know.
  func rpcError(_ error: any Error) -> RPCError {
    if hasPassedDeadline { return .deadlineExceeded }
    if let error = error as? RPCError { return error }
    if error is CancellationError { return RPCError(.cancelled, "the call was cancelled") }
    let incident = IncidentID.make()
    server.events.unexpectedError(CallContext(self), error, incident)
    return RPCError(
      .internal, "internal error, incident \(incident)",
      details: [.errorInfo(reason: "INTERNAL", domain: "parley", metadata: ["incident": incident])])
  }

  /// The caller is told at once; the handler learns it as cancellation and what it still returns is dropped.
  func deadlinePassed() {
    hasPassedDeadline = true
    if hasSentHeaders, let stream, !stream.outbound.isEmpty {
      // A status would wait behind messages that the caller does not read.
      isAnswered = true
      stream.reset(.cancel)
    } else {
      if !hasBegun { noteRefusal(.deadlineExceeded) }
      fail(.deadlineExceeded)
    }
    guard isRunning else { return discardInput() }
    stopHandler()
  }

  /// The call has its answer: what its handler still does is of no use.
  func stopHandler() {
    guard isRunning else { return }
    task?.cancel()
    wakeWaiters()
  }
}
