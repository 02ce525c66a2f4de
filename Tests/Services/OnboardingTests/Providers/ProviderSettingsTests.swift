import JSON
import MessagesCore
import Outbound
import ParleyAPI
import RPC
import RPCClient
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("Whisper servers, vLLM and Ollama by configuration", .serialized)
struct ProviderSettingsTests {
  private static let transcriptions = "/openai/v1/audio/transcriptions"
  private static let chats = "/openai/v1/chat/completions"
  /// As whisper.cpp and Ollama differ from OpenAI.
  private static let dialect = [
    "TRANSCRIPTION_PATH": "/inference", "TRANSCRIPTION_FORMAT": "json", "EXTRACTION_TOKEN_LIMIT": "max_tokens",
    "EXTRACTION_OUTPUT": "json_object", "EXTRACTION_MAX_TOKENS": "7000",
  ]

  @Test("Recordings go to one server and answers to another, each with its own path, key and names for things")
  func apart() async throws {
    // A server without keys is sent a word in the key's place; OpenAI's key would be a wrong one.
    try await SandboxProcess.run(["--openai-key", "none"], named: "Parley test Whisper server") { whisper in
      let settings = Self.dialect.merging(["TRANSCRIPTION_BASE_URL": whisper.url]) { $1 }
      try await OnboardingWorld.with(settings, trusting: [whisper.caFile]) { world in
        try await whisper.control(.post, "openai/dialect", ["serves": "transcriptions", "verboseJson": false])
        try await world.sandbox.control(
          .post, "openai/dialect", ["serves": "chats", "tokenLimit": "max_tokens", "jsonSchema": false])
        let ana = try await world.signIn("ana")
        let answer = try await world.client.complete(
          .init(state: try OnboardingWorld.record(voices: 2)), options: OnboardingWorld.options(ana))
        #expect(answer.submission?.stage == .done && answer.identityExtraction?.voiceTranscribed == 2, "\(answer)")
        #expect(answer.identityExtraction?.success == true, "\(answer)")
        #expect(try await whisper.requests(Self.transcriptions) == 2)
        #expect(try await whisper.requests(Self.chats) == 0)
        #expect(try await world.sandbox.requests(Self.transcriptions) == 0)
        #expect(try await world.sandbox.requests(Self.chats) == 1)
        #expect(try await whisper.effects("transcriptions")["paid"] == 2)
        #expect(try await world.sandbox.effects("chats")["paid"] == 1)
      }
    }
  }

  @Test("What one server has of its own holds for it alone: answers may go elsewhere while recordings stay with the shared one")
  func extractionApart() async throws {
    try await SandboxProcess.run(["--openai-key", "sk-own"], named: "Parley test model server") { model in
      let settings = [
        "EXTRACTION_BASE_URL": model.url + "/openai", "EXTRACTION_PATH": "/v1/chat/completions", "EXTRACTION_API_KEY": "sk-own",
        "EXTRACTION_TOKEN_LIMIT": "max_tokens",
      ]
      try await OnboardingWorld.with(settings, trusting: [model.caFile]) { world in
        try await world.sandbox.control(.post, "openai/dialect", ["serves": "transcriptions"])
        try await model.control(.post, "openai/dialect", ["serves": "chats", "tokenLimit": "max_tokens"])
        let ana = try await world.signIn("ana")
        let answer = try await world.client.complete(
          .init(state: try OnboardingWorld.record(voices: 1)), options: OnboardingWorld.options(ana))
        #expect(answer.submission?.stage == .done && answer.identityExtraction?.voiceTranscribed == 1, "\(answer)")
        #expect(answer.identityExtraction?.success == true, "\(answer)")
        #expect(try await model.requests(Self.chats) == 1)
        #expect(try await world.sandbox.requests(Self.transcriptions) == 1)
      }
    }
  }

  @Test("A request that is larger than its server takes is not sent, and one that takes too long is given up")
  func bounds() async throws {
    try await OnboardingWorld.with(["TRANSCRIPTION_MAX_REQUEST_BYTES": "200000", "TRANSCRIPTION_TIMEOUT": "1s"]) { world in
      let ana = try await world.signIn("ana")
      func failure(_ bytes: [UInt8]) async throws -> RPCError {
        try #require(
          await #expect(throws: RPCError.self) {
            try await world.client.transcribe(
              .init(audio: .init(bytes), contentType: "audio/wav"), options: OnboardingWorld.options(ana))
          })
      }
      let large = try await failure(SpokenFiles.tone(bytes: 200_000))
      #expect(large.code == .invalidArgument && large.reason == "AUDIO_TOO_LARGE", "\(large)")
      #expect(try await world.sandbox.requests(Self.transcriptions) == 0)
      try await world.sandbox.fail(Self.transcriptions, ["delayMs": 300_000, "count": 1])
      let slow = try await failure(SpokenFiles.tone(bytes: 150_000))
      #expect(slow.code == .unavailable && slow.reason == "PROVIDER_UNAVAILABLE", "\(slow)")
    }
  }
}
