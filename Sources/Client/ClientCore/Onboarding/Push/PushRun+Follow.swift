import ParleyAPI
import RPC

extension PushRun {
  /// Follows the work on a submission to its end, wherever it stands.
  ///
  /// What was given up before is begun anew first, with the answers that the service keeps: this device has none any more.
  ///
  /// - Returns: What became of it.
  /// - Throws: ``RPC/RPCError`` with the reason `SUBMISSION_FAILED` when the service gives the work up; whoever pushes again has
  ///   it begun anew.
  func followed(_ delivery: Delivery) async throws -> CompleteResponse {
    var delivery = delivery
    guard !delivery.submissionID.isEmpty else { return delivery.response }
    var now = try await knowing(delivery) { try await beginning(of: delivery) }
    if now.stage == .failed, !delivery.isNew {
      delivery = try await resubmitted(key: delivery.key)
      now = delivery.response.submission ?? Submission(id: delivery.submissionID, stage: .received)
    }
    if now.stage != .failed { tell(.analyzing(now)) }
    let last = now.stage.isLast ? now : try await knowing(delivery) { try await end(of: &delivery) }
    guard last.stage != .failed else {
      throw RPCError(
        .aborted, "the work on your answers was given up; the answers are kept",
        details: [.errorInfo(reason: "SUBMISSION_FAILED", domain: "parley.client", metadata: [:])])
    }
    let response = await outcome(of: delivery, last)
    try await store.forget(delivery)
    options.log("Onboarding", "complete")
    return response
  }

  /// What `body` returns; a submission that the service does not know is forgotten.
  func knowing<Value>(_ delivery: Delivery, _ body: () async throws -> Value) async throws -> Value {
    do { return try await body() } catch let error as RPCError where error.code == .notFound {
      // Of somebody else who was signed in here, or deleted.
      try await store.forget(delivery)
      throw error
    }
  }

  /// How far the work has come, and what became of it so far, as the service says now.
  func standing(of delivery: Delivery) async throws -> GetSubmissionResponse {
    let request = GetSubmissionRequest(submissionID: delivery.submissionID)
    return try await repeated { () async throws(RPCError) in
      try await service.getSubmission(request, options: .timeout(options.timeout))
    }
  }

  /// How far the work has come: as the service has just said, or, when it was seen by an earlier attempt, as it says now.
  private func beginning(of delivery: Delivery) async throws(RPCError) -> Submission {
    let first = delivery.response.submission ?? Submission(id: delivery.submissionID, stage: .received)
    guard !delivery.isNew else { return first }
    do {
      let request = GetSubmissionRequest(submissionID: delivery.submissionID)
      return try await service.getSubmission(request, options: .timeout(options.timeout)).submission ?? first
    } catch  where error.isWorthRepeating {
      // The stream will tell, or why there is none.
      return first
    }
  }

  /// Reads progress until there is no more, through however many streams.
  private func end(of delivery: inout Delivery) async throws -> Submission {
    var failures = 0
    while true {
      let begun = ContinuousClock.now
      do {
        if let last = try await watched(&delivery, &failures) { return last }
        let isTimeUp = begun.duration(to: .now) >= options.watchTimeout / 2
        // Whoever has seen the end before is told nothing more.
        let now = try await service.getSubmission(.init(submissionID: delivery.submissionID), options: .timeout(options.timeout))
        if let last = now.submission, last.stage.isLast { return last }
        // The service ends a stream shortly before its deadline: silence is no failure.
        guard isTimeUp else { throw RPCError(.unavailable, "the progress stopped before the work was done") }
        failures = 0
      } catch let error as RPCError {
        if let last = try await recovered(from: error, &delivery, &failures) { return last }
      }
    }
  }

  /// Reads one stream of progress.
  ///
  /// - Returns: The last submission of the work, or nil when the stream ended before.
  private func watched(_ delivery: inout Delivery, _ failures: inout Int) async throws -> Submission? {
    let request = WatchSubmissionRequest(submissionID: delivery.submissionID, after: delivery.position)
    var (seen, progressed) = (delivery, false)
    defer {
      delivery = seen
      if progressed { failures = 0 }
    }
    return try await service.watchSubmission(request, options: .timeout(options.watchTimeout)) { stream in
      var stream = stream
      while let event = try await stream.next() {
        guard let submission = event.submission, submission.position != seen.position else { continue }
        progressed = true
        seen.position = submission.position
        if submission.stage.isLast { return submission }
        tell(.analyzing(submission))
        try await store.advance(seen)
      }
      return nil
    }
  }

  /// Sees to it that the next stream can be opened.
  ///
  /// - Returns: The last submission of the work, if the work has ended meanwhile.
  private func recovered(
    from error: RPCError, _ delivery: inout Delivery, _ failures: inout Int
  ) async throws -> Submission? {
    switch error.code {
    case .unauthenticated where failures == 0 && SessionKeeper.isAboutToken(error):
      // Streams are not repeated with a new token by themselves.
      try await pause(after: &failures, error)
    case .unauthenticated, .permissionDenied, .notFound, .unimplemented, .failedPrecondition: throw error
    case .outOfRange, .invalidArgument:
      // A place that the service does not know any more: all from the beginning.
      guard !delivery.position.isEmpty else { throw error }
      delivery.position = ""
    case .deadlineExceeded:
      // Silence is no failure: work that waits for somebody else may take hours. But the service has to be there.
      try Task.checkCancellation()
      do throws(RPCError) {
        let request = GetSubmissionRequest(submissionID: delivery.submissionID)
        let now = try await service.getSubmission(request, options: .timeout(options.timeout)).submission
        failures = 0
        if let now, now.stage.isLast { return now }
      } catch {
        guard error.isWorthRepeating else { throw error }
        try await pause(after: &failures, error)
      }
    default: try await pause(after: &failures, error)
    }
    return nil
  }

  /// What the service answers now that all is done; without an answer, what it said first with the end in it.
  private func outcome(of delivery: Delivery, _ last: Submission) async -> CompleteResponse {
    if let result = try? await standing(of: delivery).result { return result }
    var response = delivery.response
    response.submission = last
    let warnings = last.warnings.map(\.message).filter { !$0.isEmpty }
    if !warnings.isEmpty { response.processingWarnings = warnings.joined(separator: "; ") }
    return response
  }
}
