internal import EventLoop
internal import MessagesCore
internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import PostgreSQL
internal import RPC
internal import RPCServer
internal import ServiceKit
internal import Values

/// What the paths answer.
extension OnboardingHTTPRoutes {
  @Sendable func complete(_ request: HTTPServerRequest, _ caller: Caller) async throws -> HTTPServerResponse {
    let key = request.header("idempotency-key")
    let accepted = try await request.withBody(of: caller.userID.description) { bytes in
      try await Self.message(bytes, key: key, blocking)
    } then: { message in
      try caller.mustOwn(message.userID)
      return try await onboarding.accept(message, of: caller.userID)
    }
    return try FirstAppJSON.answer(try await onboarding.result(of: accepted, for: caller.userID))
  }

  /// Read beside the loop, which 64 MiB of it would hold up.
  private static func message(_ bytes: [UInt8], key: String?, _ blocking: BlockingPool) async throws -> CompleteRequest {
    do {
      return try await blocking.run {
        var request = try CompleteRequest(json: bytes, options: JSONDecodingOptions(ignoresUnknownFields: true))
        if let key, request.idempotencyKey.isEmpty { request.idempotencyKey = key }
        return request
      }
    } catch let error as DecodeError {
      throw OnboardingRefusal.invalid(field: "body", "the body is not what is expected: \(error)").rpcError
    }
  }

  @Sendable func clone(_ request: HTTPServerRequest, _ caller: Caller) async throws -> HTTPServerResponse {
    let key = request.header("idempotency-key")
    let answer = try await cloneKeys.answer(CloneVoiceRequest(idempotencyKey: key ?? ""), key: key, of: caller) { keyed in
      try await voices.clone(for: caller.userID) { try await keyed?.keep($0, in: $1) }
    }
    return FirstAppJSON.answer(answer)
  }

  @Sendable func transcribe(_ request: HTTPServerRequest, _ caller: Caller) async throws -> HTTPServerResponse {
    try await request.withBody(of: caller.userID.description) {
      try SentRecording($0, of: request)
    } then: {
      try await words(of: $0, onboarding.transcription)
    }
  }

  private func words(of sent: SentRecording, _ desk: TranscriptionDesk) async throws -> HTTPServerResponse {
    let answer = try await refusing { try await desk.words(of: sent.bytes, declared: sent.mediaType) }
    return try FirstAppJSON.answer(answer)
  }

  /// Somebody without an account has a recording written down: a few in a minute from one address, and nothing is kept.
  @Sendable func analyzeVoice(_ request: HTTPServerRequest) async throws -> HTTPServerResponse {
    try await analysing.take(from: proxies.client(of: request))
    try await refusing { try await strangers.admit() }
    return try await request.withBody {
      try SentRecording($0, of: request)
    } then: { sent in
      guard sent.bytes.count <= SubmissionLimits.recording else {
        throw OnboardingRefusal.badRecording(field: "audio", word: "audio_too_large").rpcError
      }
      guard let session = sent.session, !session.isEmpty else {
        throw OnboardingRefusal.invalid(field: "sessionId", "the session is missing").rpcError
      }
      let desk = try refusing { try strangers.enter() }
      defer { strangers.leave() }
      return try await words(of: sent, desk)
    }
  }

  /// Somebody hears a recording of their own, with a session alone: what people said is theirs whether they pay or not.
  @Sendable func hear(_ request: HTTPServerRequest) async throws -> HTTPServerResponse {
    let caller = try await sessions.caller(presenting: request.authorization)
    try await listening.take(for: caller)
    return try await refusing {
      let recording = try await recordings.recording(request.lastSegment, of: caller.userID)
      var headers: [(name: String, value: String)] = [
        ("accept-ranges", "bytes"), ("cache-control", "private, max-age=900"), ("content-type", recording.mediaType),
      ]
      var (status, part) = (200, 0..<recording.size)
      switch ByteRange(request.header("range"), of: recording.size) {
      case .whole: break
      case .part(let range):
        (status, part) = (206, range)
        headers.append(("content-range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(recording.size)"))
      case .unsatisfiable:
        return .failure(
          416, "the recording has no such part", code: "RANGE_NOT_SATISFIABLE",
          headers: [("content-range", "bytes */\(recording.size)")])
      }
      // What is wrong is said while it can be: behind the first piece the stream can only be reset.
      try await recordings.mustBeThere(recording, caller.userID)
      return .streamed(status, headers: headers, byteCount: part.count) { [recordings, part] body in
        try await recordings.send(part, of: recording, caller.userID) { try await body.write($0) }
      }
    }
  }
}
