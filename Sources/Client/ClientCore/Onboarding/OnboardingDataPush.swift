import JSON
public import ParleyAPI
public import RPC

/// Keeps the answers of somebody who is being set up, and pushes all of them to the service once there is an account.
///
/// Answers stay on the device until the service has said that they are durable, and go away then. Pushing again is safe at any time:
/// the same record is sent by the same key, whatever answers were lost and however often the app was restarted, and a submission that
/// the service has taken is followed from the place that was last seen.
public final class OnboardingDataPush: Sendable {
  /// How recordings travel.
  public enum Uploads: Sendable, Hashable {
    /// In the one request with all answers; ahead of it, each by itself, when that would be too large.
    case whenTooLarge
    /// Always ahead of the answers: a connection that breaks costs no more than a piece.
    case always
  }

  /// What can be set.
  public struct Options: Sendable {
    /// How recordings travel.
    public var uploads: Uploads
    /// The largest request with all answers, in bytes of JSON.
    public var maximumRequestBytes: Int
    /// How many bytes of a recording that travels by itself go in one message, at most 1 MiB.
    public var pieceBytes: Int
    /// What the person agreed to about a voice of their own.
    public var voiceConsent: VoiceConsent?
    /// What the device is.
    public var device: DeviceMetadata?
    /// How long the request with all answers, or a recording, may take.
    public var transferTimeout: Duration
    /// How long any other call may take.
    public var timeout: Duration
    /// For how long one stream of progress is read before it is opened anew.
    public var watchTimeout: Duration
    /// How often something is tried that gets no further.
    public var attempts: Int
    /// Where to write what is done. No line holds an answer.
    public var log: DebugLog
    /// The time of day, and waiting.
    public var clock: any WallClock

    /// Options; by default recordings in the one request up to 64 MiB, 300 s for it, 30 s for other calls, five attempts.
    public init(
      uploads: Uploads = .whenTooLarge, maximumRequestBytes: Int = (64 << 20) - (64 << 10),
      pieceBytes: Int = 256 << 10, voiceConsent: VoiceConsent? = nil,
      device: DeviceMetadata? = nil, transferTimeout: Duration = .seconds(300), timeout: Duration = .seconds(30),
      watchTimeout: Duration = .seconds(120), attempts: Int = 5, log: DebugLog = .none, clock: any WallClock = SystemWallClock()
    ) {
      self.uploads = uploads
      self.maximumRequestBytes = maximumRequestBytes
      self.pieceBytes = pieceBytes
      self.voiceConsent = voiceConsent
      self.device = device
      self.transferTimeout = transferTimeout
      self.timeout = timeout
      self.watchTimeout = watchTimeout
      self.attempts = attempts
      self.log = log
      self.clock = clock
    }
  }

  let service: OnboardingService.Client
  /// Who knows the person, where calls are made in the name of a session.
  let keeper: SessionKeeper?
  let store: OnboardingStore
  let options: Options

  /// Answers in a store, and the way to the service.
  ///
  /// - Parameters:
  ///   - channel: Calls in the name of the session: a ``SessionChannel``. Nothing but pushing needs one.
  ///   - store: Where answers are kept.
  ///   - options: What can be set.
  public init(channel: any Channel, store: OnboardingStore, options: Options = Options()) {
    service = OnboardingService.Client(channel)
    keeper = (channel as? SessionChannel)?.keeper
    self.store = store
    self.options = options
  }

  // MARK: Answers on this device

  /// Keeps the answers so far: after every step.
  ///
  /// - Throws: ``OnboardingError`` with ``OnboardingError/Code/filePath`` for a value that is the path of a file, with
  ///   ``OnboardingError/Code/tooLarge`` for a recording beyond ``RecordingLimits/maximumBytes``: nothing is kept then.
  ///   ``KeyValueStoreError``.
  public func saveProgress(_ data: StoredOnboardingData) async throws {
    var data = data
    data.lastSavedAt = StoredOnboardingData.text(options.clock.now())
    try await store.save(data)
  }

  /// Keeps the answers as complete, to be pushed once the person has paid and signed in.
  ///
  /// - Throws: As ``saveProgress(_:)``.
  public func markCompleted(_ data: StoredOnboardingData) async throws {
    let now = options.clock.now()
    var data = data.completed(at: now)
    data.lastSavedAt = StoredOnboardingData.text(now)
    try await store.saveCompleted(data)
  }

  /// The answers on this device: complete ones if there are any, else those so far, else nil.
  ///
  /// - Throws: ``OnboardingError`` with ``OnboardingError/Code/unreadable``; ``KeyValueStoreError``.
  public func getStoredData() async throws -> StoredOnboardingData? { try await store.load() }

  /// Whether any answers are on this device.
  public func hasPendingData() async throws -> Bool { try await store.load() != nil }

  /// Forgets the answers on this device, pushed or not, and what was pushed: at a sign-out, so that nobody else gets them.
  public func clearStoredData() async throws { try await store.clear() }

  /// The answers in a line: `Onboarding: 2 responses, Step 45, 100% (COMPLETED)`.
  public func getStoredDataSummary() async -> String {
    do { return try await store.load()?.summary ?? "Onboarding: no stored data" } catch {
      return "Onboarding: stored data cannot be read"
    }
  }

  /// Complete answers to try a push with: one written, one spoken (a tone).
  public func createTestData() -> StoredOnboardingData {
    let now = options.clock.now()
    var data = StoredOnboardingData(startedAt: now, timezone: "UTC")
    data.answer(1, .text("Test user", at: now))
    let tone = WAVTone.bytes(seconds: 8)
    var spoken = OnboardingResponseData(
      type: "voice", value: .string(DataURL(mediaType: "audio/wav", bytes: tone).text), at: now)
    (spoken.duration, spoken.audioFileSize, spoken.audioFormat) = (8, tone.count, "wav")
    data.answer(5, spoken)
    return data.completed(at: now)
  }

  // MARK: The service

  /// Whether the service answers, so that it is safe to push. Nobody need be signed in.
  public func testApiConnectivity() async -> Bool { await connectionFailure() == nil }

  /// How long recordings are at least, as the service's catalogue says.
  public func recordingLimits() async throws(RPCError) -> RecordingLimits {
    RecordingLimits(try await service.listSteps(options: .init(deadline: .after(options.timeout), prefersGET: true)).steps)
  }

  /// Pushes the complete answers in one go, and forgets them when the service has said that they are durable.
  ///
  /// What follows there is not waited for beyond what the service is set up to: ``push(userID:voipToken:)`` shows it. While it
  /// goes on and nothing else waits here, the service is asked how it stands; work that was given up is begun anew with the
  /// answers that the service keeps.
  ///
  /// - Parameters:
  ///   - userID: The person; empty for whoever is signed in.
  ///   - voipToken: Where the device can be rung; nil when it is not registered yet.
  /// - Returns: What became of them so far.
  /// - Throws: ``PushFailure``, and the answers stay; `CancellationError` when the task is cancelled.
  public func pushToBackend(userID: String = "", voipToken: String? = nil) async throws -> CompleteResponse {
    let run = PushRun(self, userID: userID, voipToken: voipToken, waits: true) { _ in }
    return try await run.failingAsPush { try await run.pushed() }
  }

  /// Has the service begin anew, with the answers that it keeps, after it gave up the work on them.
  ///
  /// Pushing again does so by itself on a device that knows of the submission; this is for one that does not, such as after a new
  /// installation. ``push(userID:voipToken:)`` follows the work then.
  ///
  /// - Parameter voipToken: Where the device can be rung; nil when it is not registered yet.
  /// - Returns: What became of them so far; of the newest submission, when that was not given up.
  /// - Throws: ``PushFailure`` with ``PushFailure/Kind/noData`` when the service has taken no answers of the person's; as
  ///   ``pushToBackend(userID:voipToken:)``.
  public func resubmit(voipToken: String? = nil) async throws -> CompleteResponse {
    let run = PushRun(self, userID: "", voipToken: voipToken, waits: true) { _ in }
    return try await run.failingAsPush { try await run.resubmitted().response }
  }

  /// Pushes the complete answers and tells how it goes, to the end of the service's work.
  ///
  /// Whoever leaves the stream ends the push and its call: pushing again goes on. After a restart of the app it goes on as well, also
  /// when the answers are on this device no more.
  ///
  /// - Parameters:
  ///   - userID: The person; empty for whoever is signed in.
  ///   - voipToken: Where the device can be rung; nil when it is not registered yet.
  /// - Returns: The states, of which the last is ``PushState/complete(_:)`` or ``PushState/failed(_:)``.
  public func push(userID: String = "", voipToken: String? = nil) -> AsyncStream<PushState> {
    let (stream, continuation) = AsyncStream.makeStream(of: PushState.self)
    continuation.yield(.idle)
    let run = PushRun(self, userID: userID, voipToken: voipToken, waits: false) { continuation.yield($0) }
    // Of its own: it lasts as long as somebody reads, wherever that is.
    let pushing = Task {
      do {
        continuation.yield(.complete(try await run.failingAsPush { try await run.followed(try await run.delivered()) }))
      } catch let failure as PushFailure {
        continuation.yield(.failed(failure))
      } catch {
        // Nobody reads any more.
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in pushing.cancel() }
    return stream
  }

  /// Why the service cannot be reached; nil when it answers.
  func connectionFailure() async -> RPCError? {
    do {
      _ = try await service.listSteps(options: .init(deadline: .after(options.timeout), prefersGET: true))
      return nil
    } catch {
      // A service that refuses is there. Somebody on the way who answers in its place is not the service.
      return error.code == .resourceExhausted && !error.meansTooLarge ? nil : error
    }
  }
}
