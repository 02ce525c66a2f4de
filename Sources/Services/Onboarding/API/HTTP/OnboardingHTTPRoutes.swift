internal import ErrorReasons
internal import EventLoop
internal import JOSE
internal import JSON
internal import MessagesCore
internal import OnboardingDomain
internal import ParleyAPI
internal import RPC
internal import RPCServer
internal import ServiceKit
internal import Values

/// The first app's paths, with the handlers of the RPCs behind them, and where people hear their recordings.
struct OnboardingHTTPRoutes: Sendable {
  private typealias Calls = ParleyAPI.OnboardingService.Methods

  let onboarding: OnboardingHandlers
  let voices: VoiceHandlers
  let recordings: RecordingDesk
  let admin: OnboardingAdminHandlers
  let sessions: SessionAuthenticator
  let subscriptions: SubscriptionAuthenticator
  /// What a method's calls may take of a person's limit.
  let budget: @Sendable (MethodInfo) -> MethodBudget
  /// What paths may take that are no method's.
  let listening: MethodBudget
  let analysing: MethodBudget
  let strangers: StrangerDesk
  /// The keys of requests for a voice.
  let cloneKeys: KeyedPath
  let proxies: TrustedProxies
  let health: HealthStatus
  let blocking: BlockingPool
  /// What opens the paths under `/debug`; nil keeps them closed.
  let debugToken: String?

  /// The limits of the paths that are no method's.
  enum Limits {
    /// Recordings that somebody hears again.
    static let listening = MethodLimit("recordings", per: .user, perMinute: 120, burst: 60)
    /// Recordings of people without an account that are written down.
    static let analysing = MethodLimit("voice-analyses", per: .address, perMinute: 6, burst: 6)
  }

  var routes: [HTTPRoute] { probes + answers + [hearing] + debugging }

  private var probes: [HTTPRoute] { ["/", "/health", "/healthz", "/api/health", "/test"].map(probe) }

  private var answers: [HTTPRoute] {
    [
      paid(
        "POST", "/onboarding/v3/complete", "Failed to complete onboarding", as: Calls.complete.info,
        taking: RequestLimit(bytes: SubmissionLimits.message, alternative: "UploadRecording"), complete),
      paid("POST", "/onboarding/extract-data", "Failed to extract data", as: Calls.reExtract.info) { _, caller in
        try FirstAppJSON.answer(try await onboarding.reExtract(of: caller.userID))
      },
      paid(
        "POST", "/transcribe/audio", "Failed to transcribe audio", as: Calls.transcribe.info,
        taking: SentRecording.limit(SubmissionLimits.transcription, in: LargeRequestRoom.transcriptions), transcribe),
      route(
        "POST", "/onboarding/analyze-voice", "Failed to analyze voice",
        taking: SentRecording.limit(SubmissionLimits.recording, in: LargeRequestRoom.strangers), analyzeVoice),
      paid("POST", "/voice/clone", "Failed to clone voice", clone),
      paid("POST", "/api/settings/voice-reclone", "Failed to clone voice", clone),
      paid("GET", "/api/identity/voice-clips/:user", "Failed to list voice clips") { request, caller in
        try caller.mustOwn(request.lastSegment)
        return try FirstAppJSON.answer(try await voices.clips(of: caller.userID))
      },
    ]
  }

  private var hearing: HTTPRoute { route("GET", RecordingDesk.path + ":name", "Failed to get the recording", hear) }

  private var debugging: [HTTPRoute] {
    [
      debug("/debug/onboarding/retry-transcription/:user", "Failed to retry transcription") { request, user in
        let count = try await admin.retryTranscription(of: user, silentToo: request.queryValue("silent") != "false")
        return ["success": true, "recordings": .number(JSONNumber(count))]
      },
      debug("/debug/onboarding/retry-identity-extraction/:user", "Failed to retry identity extraction") { _, user in
        ["success": true, "started": .bool(try await admin.retryExtraction(of: user) ?? false)]
      },
    ]
  }

  // MARK: Routes

  /// - Parameters:
  ///   - sentence: What is said when it fails for reasons that are not the caller's.
  ///   - limit: How large its body may be, where that is not what holds for all.
  private func route(
    _ method: String, _ path: String, _ sentence: String, taking limit: RequestLimit? = nil,
    _ answer: @escaping @Sendable (HTTPServerRequest) async throws -> HTTPServerResponse
  ) -> HTTPRoute {
    HTTPRoute(
      path, maximumBodyBytes: limit?.bytes,
      refusing: { refusal in
        guard refusal.status == 413, let limit else { return HTTPServerResponse.refused(refusal).secured }
        return HTTPServerResponse.failure(limit.refusal(OnboardingRefusal.domain)).secured
      },
      beginsAtHeaders: limit != nil, room: limit?.room ?? RequestLimit.room
    ) { request in
      guard request.method == method else { return .wrongMethod(allowed: method).secured }
      do { return try await answer(request).secured } catch { return try Self.failure(error, sentence).secured }
    }
  }

  /// What a failure is answered with. What is nobody's fault but this service's is told by the path's sentence, and why by the details.
  private static func failure(_ error: any Error, _ sentence: String) throws(HTTPDefect) -> HTTPServerResponse {
    guard let known = ErrorMap.rpcError(for: error) else {
      throw HTTPDefect(error) { incident in
        .failure(500, sentence, code: "INTERNAL", adding: ["details": .string("internal error, incident \(incident)")]).secured
      }
    }
    guard known.httpStatus >= 500 else { return .failure(known) }
    return .failure(known.httpStatus, sentence, known, adding: ["details": .string(known.message)])
  }

  /// A path for those who have a session and a subscription.
  ///
  /// - Parameter called: The RPC that does the same, whose limit counts before a large body is received; nil where it has none.
  private func paid(
    _ method: String, _ path: String, _ sentence: String, as called: MethodInfo? = nil, taking limit: RequestLimit? = nil,
    _ answer: @escaping @Sendable (HTTPServerRequest, Caller) async throws -> HTTPServerResponse
  ) -> HTTPRoute {
    let budget = called.map(self.budget)
    return route(method, path, sentence, taking: limit) { request in
      let caller = try await subscriptions.caller(presenting: request.authorization)
      try await budget?.take(for: caller)
      return try await answer(request, caller)
    }
  }

  /// A path for whoever has the debug token. In production it is not set, and the paths are closed.
  private func debug(
    _ path: String, _ sentence: String, _ answer: @escaping @Sendable (HTTPServerRequest, UUID) async throws -> JSONObject
  ) -> HTTPRoute {
    route("POST", path, sentence) { request in
      let shown = request.headerValues("x-debug-access")
      guard let debugToken, shown.count == 1,
        ConstantTime.areEqual(SHA256.digest(Array(shown[0].utf8)), SHA256.digest(Array(debugToken.utf8)))
      else { return .failure(403, "debug paths are closed", code: "DEBUG_CLOSED") }
      guard let user = UUID(request.lastSegment) else {
        throw OnboardingRefusal.invalid(field: "userId", "a UUID").rpcError
      }
      return FirstAppJSON.response(try await answer(request, user))
    }
  }

  /// What an app asks before it sends its answers: whether they would be taken.
  private func probe(_ path: String) -> HTTPRoute {
    HTTPRoute(path, refusing: { .refused($0).secured }) { request in
      guard ["GET", "HEAD"].contains(request.method) else { return .wrongMethod(allowed: "GET, HEAD").secured }
      guard health.isServing else { return .failure(503, "not serving", code: "NOT_SERVING").secured }
      return FirstAppJSON.response(["success": true, "status": "ok"]).secured
    }
  }
}
