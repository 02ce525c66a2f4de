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

  // MARK: Until the answers are durable

  /// Sees to it that the answers on this device are durable at the service and gone here.
  ///
  /// - Returns: The newest submission that is to be followed.
  /// - Throws: ``PushFailure`` with ``PushFailure/Kind/noData`` when there is neither; ``OnboardingError``; the calls' and the
  ///   store's errors.
  func delivered() async throws -> Delivery {
    tell(.checking)
    let held = try await store.delivery()
    let snapshot = try await store.snapshot()
    guard let snapshot, snapshot.data.isCompleted == true, !snapshot.data.responses.isEmpty else {
      if let held { return held }
      throw PushFailure(
        .noData, snapshot == nil ? "there are no answers on this device" : "the answers on this device are not complete")
    }
    let encoded = snapshot.data.json.encoded()
    let key = key(of: encoded)
    if let held, held.key == key {
      // The service has them; the app ended before they were forgotten here.
      try await store.clear(snapshot)
      return held
    }
    try snapshot.data.checkValues()
    if let failure = await push.connectionFailure() { throw failure }
    options.log("Onboarding", "pushing: \(snapshot.data.summary)")
    let response = try await sent(snapshot.data, bytes: encoded.count, key)
    let delivery = Delivery(key: key, response: response)
    if !delivery.submissionID.isEmpty { try await store.save(delivery) }
    try await store.clear(snapshot)
    options.log("Onboarding", "pushed: \(response.totalSteps) answers, \(response.filesProcessed) recordings")
    return delivery
  }

  /// What makes it the same request however often it is sent: the same for the same record and person, 64 characters.
  private func key(of record: [UInt8]) -> String {
    let consent = options.voiceConsent.map { "\($0.isGiven) \($0.statement)" } ?? ""
    return SHA256.hexadecimal(record + Array("\u{0}\(userID)\u{0}\(consent)".utf8))
  }

  private func sent(_ data: StoredOnboardingData, bytes: Int, _ key: String) async throws -> CompleteResponse {
    var state = data.message
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
