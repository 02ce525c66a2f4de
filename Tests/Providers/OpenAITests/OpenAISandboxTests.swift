import JOSE
import JSON
import OpenAIProvider
import OpenID
import Outbound
import TestSandbox
import Testing

/// Over real sockets, against the sandbox as a process.
@Suite("OpenAI: the client and the sandbox") struct OpenAISandboxTests {
  private static let transcriptions = "/openai/v1/audio/transcriptions"
  private static let chats = "/openai/v1/chat/completions"

  private static func client(
    _ sandbox: SandboxProcess, key: String = "sk-sandbox", _ change: (inout OpenAISettings) -> Void = { _ in }
  )
    -> OpenAIClient
  {
    var settings = OpenAISettings(base: sandbox.openAI, key: key)
    change(&settings)
    return OpenAIClient(settings, over: sandbox.http)
  }

  private static func recording(_ seed: UInt8, model: String = "whisper-1", id: String = "r") -> TranscriptionRequest {
    TranscriptionRequest(
      model: model, audio: (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* Int(seed) &+ $0 >> 7) }, filename: "a.m4a",
      mediaType: "audio/mp4", requestID: id)
  }

  private static func hash(_ request: TranscriptionRequest) -> String {
    Hexadecimal.text(SHA256.digest(request.audio))
  }

  private static func failure(_ client: OpenAIClient, _ request: TranscriptionRequest) async throws -> ProviderError {
    try #require(await #expect(throws: ProviderError.self) { try await client.transcribe(request) })
  }

  @Test("Words come back by both kinds of model, silence is an empty text, and each request is paid for once")
  func transcriptions() async throws {
    try await SandboxProcess.run { sandbox in
      let client = Self.client(sandbox)
      let first = Self.recording(3, id: "one")
      let transcription = try await client.transcribe(first)
      #expect(transcription.text == "words of \(Self.hash(first).prefix(8))" && transcription.language == "english")
      #expect(transcription.segments.count == 1 && transcription.duration == .seconds(3))
      #expect(transcription.usage == .duration(seconds: 3) && transcription.requestID?.hasPrefix("req_") == true)
      let second = Self.recording(5, model: "gpt-4o-transcribe", id: "two")
      try await sandbox.control(.post, "openai/transcripts", ["sha256": .string(Self.hash(second)), "text": "  I run. "])
      #expect(try await client.transcribe(second).text == "I run.")
      let third = Self.recording(7, id: "three")
      try await sandbox.control(.post, "openai/transcripts", ["sha256": .string(Self.hash(third)), "silent": true])
      let silence = try await client.transcribe(third)
      #expect(silence.text == "" && silence.segments.isEmpty)
      let effects = try await sandbox.effects("transcriptions")
      #expect(effects["paid"] == 3 && effects["paidTwice"] == 0 && effects["byContent"]?[Self.hash(first)] == 1)
      #expect(effects["byRequestId"] == ["one": 1, "three": 1, "two": 1])
    }
  }

  @Test("A refusal costs nothing, says what it is, and is not repeated")
  func refusals() async throws {
    try await SandboxProcess.run { sandbox in
      let client = Self.client(sandbox)
      let request = Self.recording(3)
      #expect(try await Self.failure(Self.client(sandbox, key: "wrong"), request).code == .unauthorized)
      #expect(try await Self.failure(client, Self.recording(3, model: "no-such-model")).code == .modelNotFound)
      var verbose = Self.recording(3, model: "gpt-4o-transcribe")
      verbose.format = .verboseJSON
      #expect(try await Self.failure(client, verbose).reason == "unsupported_value")
      var text = Self.recording(3)
      text.filename = "a.txt"
      #expect(try await Self.failure(client, text).code == .invalidRequest)
      try await sandbox.fail(Self.transcriptions, ["status": 429, "retryAfter": "17", "count": 1])
      let limited = try await Self.failure(client, request)
      #expect(limited.code == .rateLimited && limited.retryAfter == .seconds(17) && limited.reason == "rate_limit_exceeded")
      try await sandbox.fail(Self.transcriptions, ["status": 429, "code": "insufficient_quota", "count": 1])
      let spent = try await Self.failure(client, request)
      #expect(spent.code == .quotaExceeded && spent.isPermanent)
      try await sandbox.fail(Self.transcriptions, ["status": 503, "count": 1])
      #expect(try await Self.failure(client, request).code == .overloaded)
      try await sandbox.fail(Self.transcriptions, ["drop": true, "count": 1])
      let lost = try await Self.failure(client, request)
      #expect(lost.code == .connectionLost && lost.mayHaveTakenEffect)
      #expect(try await sandbox.requests(Self.transcriptions) == 8)
      #expect(try await sandbox.effects("transcriptions")["paid"] == 0)
    }
  }

  @Test("A request of 25 MiB passes, its form included, and one byte more is refused by the server as by the client")
  func sizes() async throws {
    let probe = ScriptedHTTP(200, #"{"text":"x"}"#)
    _ = try await OpenAIClient(.init(base: "https://ai.example", key: "k"), over: probe).transcribe(Self.recording(3))
    let around = try #require(probe.requests.first?.body).count - Self.recording(3).audio.count
    try await SandboxProcess.run { sandbox in
      let client = Self.client(sandbox) { $0.maximumUploadSize = 26 << 20 }
      var request = Self.recording(3)
      request.audio = [UInt8](repeating: 7, count: (25 << 20) - around)
      #expect(try await client.transcribe(request).text.hasPrefix("words of "))
      request.audio.append(7)
      let server = try await Self.failure(client, request)
      #expect(server.code == .tooLarge && server.status == 413)
      let own = try await Self.failure(Self.client(sandbox), request)
      #expect(own.code == .tooLarge && own.status == nil)
      #expect(try await sandbox.effects("transcriptions")["paid"] == 1)
    }
  }

  @Test("An answer that is lost after the work may be paid for: the client says so, and asks no second time")
  func lostAnswers() async throws {
    try await SandboxProcess.run { sandbox in
      let client = Self.client(sandbox)
      try await sandbox.fail(Self.transcriptions, ["drop": true, "after": true, "count": 1])
      let dropped = try await Self.failure(client, Self.recording(3))
      #expect(dropped.code == .connectionLost && dropped.mayHaveTakenEffect && !dropped.isPermanent)
      try await sandbox.control(.post, "hold", ["path": .string(Self.transcriptions), "count": 1])
      let asking = Task { try await client.transcribe(Self.recording(5, id: "held")) }
      try await sandbox.awaitHeld(1)
      asking.cancel()
      let given = try #require(await #expect(throws: ProviderError.self) { try await asking.value })
      #expect(given.code == .cancelled && given.mayHaveTakenEffect)
      let effects = try await sandbox.effects("transcriptions")
      #expect(effects["paid"] == 2 && effects["paidTwice"] == 0 && effects["byRequestId"]?["held"] == 1)
    }
  }

  @Test("A held request is received and paid for while its answer waits, and comes when it is let go")
  func held() async throws {
    try await SandboxProcess.run { sandbox in
      try await sandbox.control(.post, "hold", ["path": .string(Self.transcriptions), "count": 1])
      async let answer = Self.client(sandbox).transcribe(Self.recording(3, id: "held"))
      try await sandbox.awaitHeld(1)
      let waiting = try await sandbox.control(.get, "hold")
      #expect(waiting["waiting"]?.array?.first?["requestId"] == "held" && waiting["holds"] == [])
      #expect(try await sandbox.effects("transcriptions")["paid"] == 1)
      try await sandbox.control(.delete, "hold")
      #expect(try await answer.text.hasPrefix("words of "))
    }
  }

  private static let schema = ChatSchema(
    name: "identity",
    schema: [
      "type": "object", "additionalProperties": false, "required": ["name", "age", "mood", "fears", "quote"],
      "properties": [
        "name": ["type": "string"], "age": ["type": "integer", "minimum": 18, "maximum": 20],
        "mood": ["type": "string", "enum": ["calm", "tense"]], "fears": ["type": "array", "items": ["type": "string"]],
        "quote": ["type": ["string", "null"], "maxLength": 5],
      ],
    ])

  private static func chat(_ text: String = "Who am I?", id: String = "c") -> ChatRequest {
    var request = ChatRequest(model: "gpt-4o-mini", messages: [.init(.user, text)], requestID: id)
    request.schema = schema
    return request
  }

  @Test("A chat is answered by its schema, the same each time, with schemas and without", arguments: [true, false])
  func documents(knowsSchemas: Bool) async throws {
    try await SandboxProcess.run { sandbox in
      let client = Self.client(sandbox) { if !knowsSchemas { $0.structuredOutput = .jsonObject } }
      let answer = try await client.chat(Self.chat())
      guard case .document(let document) = answer.outcome else {
        Issue.record("\(answer)")
        return
      }
      #expect(document["name"]?.string?.hasPrefix("name of ") == true && [18, 19, 20].contains(document["age"]?.int64))
      #expect(["calm", "tense"].contains(document["mood"]?.string) && document["fears"]?.array?.count == 1)
      #expect(document["quote"] == "quote" && answer.usage?.promptTokens ?? 0 > 0 && answer.finishReason == "stop")
      #expect(try await client.chat(Self.chat()).outcome == answer.outcome)
      #expect(try await client.chat(Self.chat("And you?")).outcome != answer.outcome)
      let effects = try await sandbox.effects("chats")
      #expect(effects["paid"] == 3 && effects["paidTwice"] == 1 && effects["byRequestId"] == ["c": 3])
    }
  }

  @Test("Refusals, answers that are cut off and answers that are no JSON are told apart")
  func endings() async throws {
    try await SandboxProcess.run { sandbox in
      let client = Self.client(sandbox)
      let wishes: [(JSONObject, ChatAnswer.Outcome)] = [
        (["refusal": "No."], .refusal("No.")), (["truncated": true], .truncated), (["invalid": true], .malformed),
        (["document": ["name": "Ana"]], .document(["name": "Ana"])), (["content": "[]"], .malformed),
      ]
      for (wish, outcome) in wishes {
        try await sandbox.control(.post, "openai/chat", wish)
        let answer = try await client.chat(Self.chat())
        #expect(answer.outcome == outcome && answer.usage != nil)
      }
      var short = Self.chat()
      short.maximumTokens = 3
      #expect(try await client.chat(short).outcome == .truncated)
      var free = Self.chat()
      free.schema = nil
      guard case .text(let text) = try await client.chat(free).outcome else {
        Issue.record("no text")
        return
      }
      #expect(text.hasPrefix("answer to "))
    }
  }

  @Test("What no server would take is refused: too long a context, a schema that is not strict, a wrong name")
  func refusedChats() async throws {
    try await SandboxProcess.run { sandbox in
      let client = Self.client(sandbox)
      let long = await #expect(throws: ProviderError.self) {
        try await client.chat(Self.chat(String(repeating: "word ", count: 110_000)))
      }
      #expect(long?.code == .contextTooLong && long?.reason == "context_length_exceeded" && long?.isPermanent == true)
      var loose = Self.chat()
      loose.schema = ChatSchema(name: "a", schema: ["type": "object", "properties": ["b": ["type": "string"]]])
      var misnamed = Self.chat()
      misnamed.schema = ChatSchema(name: "a b", schema: Self.schema.schema)
      for request in [loose, misnamed] {
        let error = await #expect(throws: ProviderError.self) { try await client.chat(request) }
        #expect(error?.code == .invalidRequest)
      }
      let effects = try await sandbox.effects("chats")
      #expect(effects["paid"] == 0)
    }
  }

  @Test("Nobody there is told apart from an answer that was lost")
  func unreachable() async throws {
    try await SandboxProcess.run { sandbox in
      let nowhere = OpenAIClient(OpenAISettings(base: "https://localhost:1/v1", key: "k"), over: sandbox.http)
      let error = try await Self.failure(nowhere, Self.recording(3))
      #expect(error.code == .unreachable && !error.mayHaveTakenEffect && !error.isPermanent)
      let plain = OpenAIClient(OpenAISettings(base: "http://ai.example/v1", key: "k"), over: sandbox.http)
      let refused = try await Self.failure(plain, Self.recording(3))
      #expect(refused.code == .misconfigured && refused.isPermanent && !refused.mayHaveTakenEffect)
    }
  }
}
