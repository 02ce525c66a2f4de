internal import ErrorReasons
internal import EventLoop
internal import JOSE
internal import JSON
internal import MessagesCore
internal import OnboardingDomain
internal import ParleyAPI
internal import PostgreSQL
internal import RPC
internal import RPCServer
internal import ServiceKit

/// The first app's paths, with the handlers of the RPCs behind them, and where people hear their recordings.
struct OnboardingHTTPRoutes: Sendable {
  let onboarding: OnboardingHandlers
  let voices: VoiceHandlers
  let recordings: RecordingDesk
  let admin: OnboardingAdminHandlers
  let sessions: SessionAuthenticator
  let subscriptions: SubscriptionAuthenticator
  /// What a method's calls may take of a person's limit, by its name.
  let budget: @Sendable (String) -> MethodBudget?
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
        "POST", "/onboarding/v3/complete", "Failed to complete onboarding", as: "Complete",
        taking: Body(SubmissionLimits.message, alternative: "UploadRecording"), complete),
      paid("POST", "/onboarding/extract-data", "Failed to extract data", as: "ReExtract") { _, caller in
        try FirstAppJSON.answer(try await onboarding.reExtract(of: caller.userID))
      },
      paid(
        "POST", "/transcribe/audio", "Failed to transcribe audio", as: "Transcribe",
        taking: Body(SubmissionLimits.transcription + Body.frame, room: LargeRequestRoom.transcriptions), transcribe),
      route(
        "POST", "/onboarding/analyze-voice", "Failed to analyze voice",
        taking: Body(SubmissionLimits.recording + Body.frame, room: LargeRequestRoom.strangers), analyzeVoice),
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

  /// What a large body may have, and whom it waits for.
  struct Body {
    /// What a form has around its recording, at most.
    static let frame = 64 << 10

    let bytes: Int
    let room: String
    let alternative: String?

    init(_ bytes: Int, room: String = RequestLimit.room, alternative: String? = nil) {
      (self.bytes, self.room, self.alternative) = (bytes, room, alternative)
    }
  }

  /// - Parameter sentence: What is said when it fails for reasons that are not the caller's.
  private func route(
    _ method: String, _ path: String, _ sentence: String, taking body: Body? = nil,
    _ answer: @escaping @Sendable (HTTPServerRequest) async throws -> HTTPServerResponse
  ) -> HTTPRoute {
    let tooLarge = body.map { body in
      let refusal = RequestLimit(bytes: body.bytes, alternative: body.alternative).refusal(OnboardingRefusal.domain)
      return HTTPServerResponse.failure(refusal).secured
    }
    return HTTPRoute(
      path, maximumBodyBytes: body?.bytes, tooLarge: tooLarge, beginsAtHeaders: body != nil, room: body?.room ?? RequestLimit.room
    ) { request in
      guard request.method == method else {
        return .text(405, "method not allowed", headers: [("allow", "\(method), OPTIONS")])
      }
      do { return try await answer(request).secured } catch { return try Self.failure(error, sentence).secured }
    }
  }

  /// What a failure is answered with. What is nobody's fault but this service's is told by the path's sentence, and why by the details.
  private static func failure(_ error: any Error, _ sentence: String) throws(HTTPDefect) -> HTTPServerResponse {
    guard let known = ErrorMap.rpcError(for: error) else {
      throw HTTPDefect(error) { incident in
        .failure(500, sentence, adding: ["details": .string("internal error, incident \(incident)")]).secured
      }
    }
    guard known.httpStatus >= 500 else { return .failure(known) }
    return .failure(known.httpStatus, sentence, known, adding: ["details": .string(known.message)])
  }

  /// A path for those who have a session and a subscription.
  ///
  /// - Parameter called: The RPC that does the same, whose limit counts before a large body is received; nil where it has none.
  private func paid(
    _ method: String, _ path: String, _ sentence: String, as called: String? = nil, taking body: Body? = nil,
    _ answer: @escaping @Sendable (HTTPServerRequest, Caller) async throws -> HTTPServerResponse
  ) -> HTTPRoute {
    let budget = called.flatMap(self.budget)
    return route(method, path, sentence, taking: body) { request in
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
      else { return .failure(403, "debug paths are closed") }
      guard let user = UUID(request.lastSegment) else {
        throw OnboardingRefusal.invalid(field: "userId", "a UUID").rpcError
      }
      return FirstAppJSON.response(try await answer(request, user))
    }
  }

  /// What an app asks before it sends its answers: whether they would be taken.
  private func probe(_ path: String) -> HTTPRoute {
    .get(path, allowsHead: true) { _ in
      guard health.isServing else { return .failure(503, "not serving").secured }
      return FirstAppJSON.response(["success": true, "status": "ok"]).secured
    }
  }
}

extension HTTPServerRequest {
  /// The one field of that name; nil where there is none, or more than one.
  var authorization: String? {
    let fields = headerValues("authorization")
    return fields.count == 1 ? fields[0] : nil
  }
}

extension HTTPServerResponse {
  /// The answer for its caller alone: no cache keeps it unless it says so itself, and no browser guesses at its type.
  fileprivate var secured: HTTPServerResponse {
    var response = self
    if !headers.contains(where: { $0.name == "cache-control" }) { response.headers.append(("cache-control", "no-store")) }
    response.headers.append(("x-content-type-options", "nosniff"))
    return response
  }
}
