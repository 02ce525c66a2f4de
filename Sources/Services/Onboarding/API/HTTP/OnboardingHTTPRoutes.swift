internal import ErrorReasons
internal import EventLoop
internal import JOSE
internal import JSON
internal import Limits
internal import MessagesCore
internal import OnboardingDomain
internal import ParleyAPI
internal import PostgreSQL
internal import RPC
internal import RPCServer
internal import ServiceKit

/// The first app's paths, with the handlers of the RPCs behind them.
struct OnboardingHTTPRoutes: Sendable {
  let onboarding: OnboardingHandlers
  let voices: VoiceHandlers
  let admin: OnboardingAdminHandlers
  let subscriptions: SubscriptionAuthenticator
  let limiter: any RateLimiter
  let strangers: StrangerDesk
  /// What a method's calls may take of a person's limit, by its name.
  let budget: @Sendable (String) -> MethodBudget?
  let proxies: TrustedProxies
  let blocking: BlockingPool
  /// What opens the paths under `/debug`; nil keeps them closed.
  let debugToken: String?
  let now: @Sendable () -> Timestamp

  var routes: [HTTPRoute] {
    [
      paid("POST", "/onboarding/v3/complete", as: "Complete", maximumBodyBytes: SubmissionLimits.message, complete),
      paid("POST", "/onboarding/extract-data", as: "ReExtract") { _, caller in
        try Self.json(try await onboarding.reExtract(of: caller.userID))
      },
      paid(
        "POST", "/transcribe/audio", as: "Transcribe", maximumBodyBytes: SubmissionLimits.transcription + (64 << 10),
        room: LargeRequestRoom.transcriptions, transcribe),
      paid("POST", "/voice/clone", clone), paid("POST", "/api/settings/voice-reclone", clone),
      paid("GET", "/api/identity/voice-clips/:user") { request, caller in
        try caller.mustOwn(request.lastSegment)
        return try Self.json(try await voices.clips(of: caller.userID), emitsDefaults: true)
      },
      route(
        "POST", "/onboarding/analyze-voice", maximumBodyBytes: SubmissionLimits.recording + (64 << 10),
        room: LargeRequestRoom.strangers, analyzeVoice),
      debug("/debug/onboarding/retry-transcription/:user") { request, user in
        let count = try await admin.retryTranscription(of: user, silentToo: request.queryValue("silent") == "true")
        return ["success": true, "recordings": .number(JSONNumber(count))]
      },
      debug("/debug/onboarding/retry-identity-extraction/:user") { _, user in
        ["success": true, "started": .bool(try await admin.retryExtraction(of: user))]
      },
    ]
  }

  // MARK: What answers

  private func complete(_ request: HTTPServerRequest, _ caller: Caller) async throws -> HTTPServerResponse {
    let accepted = try await request.withBody(of: caller.userID.description) { bytes in
      try await Self.message(bytes, blocking)
    } then: { message in
      try caller.mustOwn(message.userID)
      return try await onboarding.accept(message, of: caller.userID)
    }
    return try Self.json(try await onboarding.result(of: accepted, for: caller.userID), emitsDefaults: true)
  }

  /// Read beside the loop, which 64 MiB of it would hold up.
  private static func message(_ bytes: [UInt8], _ blocking: BlockingPool) async throws -> CompleteRequest {
    do {
      return try await blocking.run {
        try CompleteRequest(json: bytes, options: JSONDecodingOptions(ignoresUnknownFields: true))
      }
    } catch let error as DecodeError {
      throw OnboardingRefusal.invalid(field: "body", "the body is not what is expected: \(error)").rpcError
    }
  }

  private func clone(_ request: HTTPServerRequest, _ caller: Caller) async throws -> HTTPServerResponse {
    let voice = try await voices.clone(for: caller.userID).voice
    return .json(
      202,
      JSONValue.object(["success": true, "voiceId": voice.flatMap { $0.voiceID.isEmpty ? nil : .string($0.voiceID) } ?? .null])
        .encoded())
  }

  private func transcribe(_ request: HTTPServerRequest, _ caller: Caller) async throws -> HTTPServerResponse {
    try await request.withBody(of: caller.userID.description) {
      try SentRecording($0, of: request)
    } then: {
      try await words(of: $0, onboarding.transcription)
    }
  }

  private func words(of sent: SentRecording, _ desk: TranscriptionDesk) async throws -> HTTPServerResponse {
    let answer = try await refusing { try await desk.words(of: sent.bytes, declared: sent.mediaType) }
    return try Self.json(answer, emitsDefaults: true)
  }

  /// Somebody without an account has a recording written down: a few in a minute from one address, and nothing is kept.
  private func analyzeVoice(_ request: HTTPServerRequest) async throws -> HTTPServerResponse {
    let answer = try await limiter.take(
      "analyze-voice/\(proxies.client(of: request).limitKey)", BucketRate(perMinute: 6, burst: 6), at: now())
    if let until = answer.refusedUntil {
      throw RPCError(
        .resourceExhausted, "too many recordings from this address",
        details: [
          .errorInfo(reason: "RATE_LIMITED", domain: OnboardingRefusal.domain, metadata: [:]),
          .retryInfo(until.duration(since: now())),
        ])
    }
    try await strangers.admit()
    return try await request.withBody {
      try SentRecording($0, of: request)
    } then: { sent in
      guard sent.bytes.count <= SubmissionLimits.recording else {
        throw OnboardingRefusal.badRecording(field: "audio", word: "audio_too_large").rpcError
      }
      guard let session = sent.session, !session.isEmpty else {
        throw OnboardingRefusal.invalid(field: "sessionId", "the session is missing").rpcError
      }
      let desk = try strangers.enter()
      defer { strangers.leave() }
      return try await words(of: sent, desk)
    }
  }

  private static func json(_ message: some Message, emitsDefaults: Bool = false) throws -> HTTPServerResponse {
    .json(200, try message.jsonBytes(options: JSONEncodingOptions(writesDefaults: emitsDefaults)))
  }

  // MARK: Routes

  private func route(
    _ method: String, _ path: String, maximumBodyBytes: Int? = nil, room: String = RequestLimit.room,
    _ answer: @escaping @Sendable (HTTPServerRequest) async throws -> HTTPServerResponse
  ) -> HTTPRoute {
    let tooLarge = maximumBodyBytes.map { bytes in
      Self.failure(RequestLimit(bytes: bytes, alternative: "UploadRecording").refusal(OnboardingRefusal.domain))
    }
    return HTTPRoute(
      path, maximumBodyBytes: maximumBodyBytes, tooLarge: tooLarge, beginsAtHeaders: maximumBodyBytes != nil, room: room
    ) { request in
      guard request.method == method else {
        return .text(405, "method not allowed", headers: [("allow", "\(method), OPTIONS")])
      }
      var response: HTTPServerResponse
      do { response = try await answer(request) } catch let error as RPCError { response = Self.failure(error) }
      response.headers += [("cache-control", "no-store"), ("x-content-type-options", "nosniff")]
      return response
    }
  }

  /// A path for those who have a session and a subscription.
  ///
  /// - Parameter called: The RPC that does the same, whose limit counts before a large body is received; nil where it has none.
  private func paid(
    _ method: String, _ path: String, as called: String? = nil, maximumBodyBytes: Int? = nil,
    room: String = RequestLimit.room,
    _ answer: @escaping @Sendable (HTTPServerRequest, Caller) async throws -> HTTPServerResponse
  ) -> HTTPRoute {
    let budget = called.flatMap(self.budget)
    return route(method, path, maximumBodyBytes: maximumBodyBytes, room: room) { request in
      let fields = request.headerValues("authorization")
      let caller = try await subscriptions.caller(presenting: fields.count == 1 ? fields[0] : nil)
      try await budget?.take(for: caller)
      return try await answer(request, caller)
    }
  }

  /// A path for whoever has the debug token. In production it is not set, and the paths are closed.
  private func debug(
    _ path: String, _ answer: @escaping @Sendable (HTTPServerRequest, UUID) async throws -> JSONObject
  ) -> HTTPRoute {
    route("POST", path) { request in
      let shown = request.headerValues("x-debug-access")
      guard let debugToken, shown.count == 1,
        ConstantTime.areEqual(SHA256.digest(Array(shown[0].utf8)), SHA256.digest(Array(debugToken.utf8)))
      else {
        return .json(403, JSONValue.object(["success": false, "error": "debug paths are closed"]).encoded())
      }
      guard let user = UUID(request.lastSegment) else {
        throw OnboardingRefusal.invalid(field: "userId", "a UUID").rpcError
      }
      return .json(200, JSONValue.object(try await answer(request, user)).encoded())
    }
  }

  private static func failure(_ error: RPCError) -> HTTPServerResponse {
    .failure(error, adding: error.httpStatus == 402 ? ["requiresSubscription": true] : [:])
  }
}
