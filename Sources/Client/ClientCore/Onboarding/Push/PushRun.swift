import ErrorReasons
import JSON
import ParleyAPI
import RPC
import WellKnown

/// One attempt to push what is on the device: from the check to the end of the service's work.
struct PushRun: Sendable {
  let push: OnboardingDataPush
  let userID: String
  let voipToken: String?
  /// Whether the service is to wait for its work before it answers, as it is set up to.
  let waits: Bool
  let tell: @Sendable (PushState) -> Void

  var service: OnboardingService.Client { push.service }
  var store: OnboardingStore { push.store }
  var options: OnboardingDataPush.Options { push.options }

  init(
    _ push: OnboardingDataPush, userID: String, voipToken: String?, waits: Bool, _ tell: @escaping @Sendable (PushState) -> Void
  ) {
    self.push = push
    self.userID = userID
    self.voipToken = voipToken
    self.waits = waits
    self.tell = tell
  }

  /// What `body` returns; what it throws as a ``PushFailure``, unless the task was cancelled.
  func failingAsPush<Value>(_ body: () async throws -> Value) async throws -> Value {
    do { return try await body() } catch {
      try Task.checkCancellation()
      let failure = PushFailure(error)
      options.log("Onboarding", "push failed: \(failure.kind)")
      throw failure
    }
  }

  /// Whose answers are pushed; empty where nobody here knows.
  func person() async throws(RPCError) -> String {
    guard userID.isEmpty else { return userID }
    return try await push.keeper?.userID() ?? ""
  }

  // MARK: Until the answers are durable

  /// What became of the answers so far: those on this device, or those that were pushed before and are still worked on.
  ///
  /// - Throws: As ``delivered()``.
  func pushed() async throws -> CompleteResponse {
    var delivery = try await delivered()
    var response = delivery.response
    if !delivery.isNew {
      // Nothing was pushed now: what is said has to be so now, and for this person.
      let now = try await knowing(delivery) { try await standing(of: delivery) }
      if now.submission?.stage == .failed {
        delivery = try await resubmitted(key: delivery.key)
        response = delivery.response
      } else {
        response = now.result ?? response
        response.submission = now.submission ?? response.submission
      }
    }
    if response.submission?.stage == .done { try await store.forget(delivery) }
    return response
  }

  /// Sees to it that the answers on this device are durable at the service and gone here.
  ///
  /// - Returns: The newest submission that is to be followed.
  /// - Throws: ``PushFailure`` with ``PushFailure/Kind/noData`` when there is neither; ``OnboardingError``; the calls' and the
  ///   store's errors.
  func delivered() async throws -> Delivery {
    tell(.checking)
    let person = try await person()
    let held = try await held(by: person)
    let snapshot = try await store.snapshot()
    guard let snapshot, snapshot.data.isCompleted == true, !snapshot.data.responses.isEmpty else {
      if let held { return held }
      throw PushFailure(
        .noData, snapshot == nil ? "there are no answers on this device" : "the answers on this device are not complete")
    }
    let encoded = snapshot.data.json.encoded()
    let key = key(of: encoded, person)
    if let held, held.key == key {
      // The service has them; the app ended before they were forgotten here.
      try await store.clear(snapshot)
      return held
    }
    try snapshot.data.checkValues()
    if let failure = await push.connectionFailure() { throw failure }
    options.log("Onboarding", "pushing: \(snapshot.data.summary)")
    let response = try await sent(snapshot.data, bytes: encoded.count, key)
    let delivery = try await kept(Delivery(key: key, person: person, response: response))
    try await store.clear(snapshot)
    options.log("Onboarding", "pushed: \(response.totalSteps) answers, \(response.filesProcessed) recordings")
    return delivery
  }

  /// Sends the answers that the service keeps once more, if it gave up the work on them.
  ///
  /// - Parameter key: What the record was pushed by, if it was from here.
  /// - Returns: The new submission, or the newest one where another was begun since.
  /// - Throws: ``PushFailure`` with ``PushFailure/Kind/noData`` when the service has taken none; the calls' and the store's
  ///   errors.
  func resubmitted(key: String = "") async throws -> Delivery {
    let person = try await person()
    let progress = try await repeated { () async throws(RPCError) in
      try await service.getProgress(options: .timeout(options.timeout))
    }
    guard let newest = progress.submission, let state = progress.state, !state.responses.isEmpty else {
      throw PushFailure(.noData, "no answers were pushed before")
    }
    guard newest.stage == .failed else {
      // Whoever gets the end of that is not told of one that was given up before.
      let response = CompleteResponse(success: true, jobID: newest.id, submission: newest)
      return try await kept(Delivery(key: key, person: person, response: response))
    }
    tell(.uploading(done: 0, total: 0))
    options.log("Onboarding", "pushing again what the service keeps")
    let request = request(state, SHA256.hexadecimal(Array("\(newest.id)\u{0}\(person)".utf8)))
    let response = try await repeated { () async throws(RPCError) in
      try await service.complete(request, options: .timeout(options.transferTimeout))
    }
    return try await kept(Delivery(key: key, person: person, response: response))
  }

  /// The submission that is followed here, if it may be this person's.
  private func held(by person: String) async throws -> Delivery? {
    guard let held = try await store.delivery() else { return nil }
    guard held.isForeign(to: person) else { return held }
    try await store.forget(held)
    return nil
  }

  private func kept(_ delivery: Delivery) async throws -> Delivery {
    if !delivery.submissionID.isEmpty { try await store.save(delivery) }
    return delivery
  }

  /// What makes it the same request however often it is sent: the same for the same record and person, 64 characters.
  private func key(of record: [UInt8], _ person: String) -> String {
    let consent = options.voiceConsent.map { "\($0.isGiven) \($0.statement)" } ?? ""
    return SHA256.hexadecimal(record + Array("\u{0}\(person)\u{0}\(consent)".utf8))
  }

  private func sent(_ data: StoredOnboardingData, bytes: Int, _ key: String) async throws -> CompleteResponse {
    var (state, key) = (data.message, key)
    var isUploaded = false
    if options.uploads == .always || bytes > options.maximumRequestBytes {
      state = try await uploaded(state)
      isUploaded = true
    } else {
      tell(.uploading(done: 0, total: 0))
    }
    var failures = 0
    while true {
      do {
        return try await service.complete(request(state, key), options: .timeout(options.transferTimeout))
      } catch {
        if error.meansTooLarge && !isUploaded {
          state = try await uploaded(state)
          isUploaded = true
        } else if error.reason == "IDEMPOTENCY_KEY_REUSED", !key.isEmpty {
          // The record was sent before by another version of the app, or understood by other steps. Without a key its content tells.
          key = ""
        } else {
          // An answer that was lost comes again by the same key.
          guard error.isWorthRepeating else { throw error }
          try await pause(after: &failures, error)
        }
      }
    }
  }

  private func request(_ state: OnboardingState, _ key: String) -> CompleteRequest {
    CompleteRequest(
      userID: userID, voipToken: voipToken, state: state, deviceMetadata: options.device, idempotencyKey: key,
      voiceConsent: options.voiceConsent, wait: waits ? nil : .init(seconds: 0))
  }

  private func uploaded(_ state: OnboardingState) async throws -> OnboardingState {
    var state = state
    let recordings = state.responses.compactMap { key, answer in
      RecordingUpload(answer).map { (key: key, upload: $0) }
    }.sorted { ($0.key.count, $0.key) < ($1.key.count, $1.key) }
    for (index, recording) in recordings.enumerated() {
      tell(.uploading(done: index, total: recordings.count))
      do {
        state.responses[recording.key]?.value = .init(kind: .stringValue(try await reference(to: recording.upload)))
      } catch let error as RPCError where error.code == .invalidArgument {
        // What the service takes for no recording stays in the request: it is a warning there, and the other answers count.
        options.log("Onboarding", "the recording of step \(recording.key) was not taken: \(error.reason ?? error.code.name)")
      }
    }
    tell(.uploading(done: recordings.count, total: recordings.count))
    return state
  }

  // MARK: Waiting

  /// What `call` returns, made again as long as that may help.
  func repeated<Value>(_ call: () async throws(RPCError) -> Value) async throws -> Value {
    var failures = 0
    while true {
      do { return try await call() } catch {
        guard error.isWorthRepeating else { throw error }
        try await pause(after: &failures, error)
      }
    }
  }

  /// Waits before the next attempt.
  ///
  /// - Throws: The error when there were enough attempts, or when it asks for a longer wait than anybody watches a bar for.
  func pause(after failures: inout Int, _ error: RPCError) async throws {
    failures += 1
    guard failures < options.attempts, !error.asksForLongWait, !Task.isCancelled else { throw error }
    options.log("Onboarding", "attempt \(failures) failed: \(error.code.name)")
    try await options.clock.sleep(for: error.retryAfter ?? min(.milliseconds(200 << failures), .seconds(10)))
  }
}
