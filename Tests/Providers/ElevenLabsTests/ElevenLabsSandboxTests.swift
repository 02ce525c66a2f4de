import ElevenLabsProvider
import JSON
import OpenID
import Outbound
import TestSandbox
import Testing

/// Over real sockets, against the sandbox as a process.
@Suite("ElevenLabs: the client and the sandbox") struct ElevenLabsSandboxTests {
  private static let add = "/elevenlabs/v1/voices/add"
  private static let list = "/elevenlabs/v2/voices"

  private static func client(_ sandbox: SandboxProcess, key: String = "xi-sandbox") -> ElevenLabsClient {
    ElevenLabsClient(.init(base: sandbox.elevenLabs, key: key), over: sandbox.http)
  }

  private static func voice(_ seed: UInt8 = 1, label: String = "k-1") -> NewVoice {
    var voice = NewVoice(
      name: "Ana \"of\" Parley",
      samples: (0..<3).map {
        .init(
          filename: "step_\($0).m4a", mediaType: "audio/mp4",
          bytes: (0..<9_000).map { UInt8(truncatingIfNeeded: $0 * Int(seed)) } + [$0])
      }, requestID: "r-\(seed)")
    voice.description = "ü: a voice"
    voice.labels = ["parley_key": label, "language": "en"]
    voice.removesBackgroundNoise = true
    return voice
  }

  private static func failure(_ client: ElevenLabsClient, _ voice: NewVoice) async throws -> ProviderError {
    try #require(await #expect(throws: ProviderError.self) { try await client.addVoice(voice) })
  }

  @Test("A voice is made, found among all and by label, removed, and gone; removing it again is no error")
  func life() async throws {
    try await SandboxProcess.run { sandbox in
      let client = Self.client(sandbox)
      let made = try await client.addVoice(Self.voice())
      #expect(!made.id.isEmpty && !made.requiresVerification)
      let voice = try #require(try await client.voices().first { $0.id == made.id })
      #expect(voice.name == "Ana \"of\" Parley" && voice.description == "ü: a voice" && voice.category == "cloned")
      #expect(voice.labels == ["parley_key": "k-1", "language": "en"])
      let other = try await client.addVoice(Self.voice(2, label: "k-2"))
      #expect(try await client.voices(labelled: "parley_key", "k-2").map(\.id) == [other.id])
      #expect(try await client.voices().map(\.id) == [made.id, other.id])
      #expect(try await client.voices(labelled: "parley_key", "k-3").isEmpty)
      #expect(try await client.deleteVoice(made.id))
      #expect(try await !client.deleteVoice(made.id))
      #expect(try await client.voices().map(\.id) == [other.id])
      let effects = try await sandbox.effects("voices")
      #expect(effects["paid"] == 2 && effects["existing"] == 1 && effects["deleted"] == 1 && effects["paidTwice"] == 0)
    }
  }

  @Test("An account of any size is read page by page, and searched for a label instead of being read whole (OF-08)")
  func pages() async throws {
    try await SandboxProcess.run { sandbox in
      let client = Self.client(sandbox)
      var made: [String] = []
      for number in 0..<205 {
        var voice = Self.voice(label: "k-\(number)")
        voice.samples = [.init(filename: "a.m4a", mediaType: "audio/mp4", bytes: [UInt8(number % 256)])]
        // One whose name says what another one's label does is not that one.
        if number == 7 { voice.name = "k-204" }
        made.append(try await client.addVoice(voice).id)
      }
      #expect(try await sandbox.requests(Self.list) == 0)
      #expect(try await client.voices().map(\.id) == made)
      #expect(try await sandbox.requests(Self.list) == 3)
      #expect(try await client.voices(labelled: "parley_key", "k-204").map(\.id) == [made[204]])
      #expect(try await sandbox.requests(Self.list) == 4, "what is searched for is on the first page")
      // 112 of them have it in their labels, on two pages.
      #expect(try await client.voices(labelled: "parley_key", "k-1").map(\.id) == [made[1]])
      #expect(try await sandbox.requests(Self.list) == 6)
      #expect(try await sandbox.requests("/elevenlabs/v1/voices") == 0)
    }
  }

  @Test("A voice whose making was not answered is there, and is found by its label instead of being made again")
  func lostAnswer() async throws {
    try await SandboxProcess.run { sandbox in
      let client = Self.client(sandbox)
      try await sandbox.fail(Self.add, ["drop": true, "after": true, "count": 1])
      let error = try await Self.failure(client, Self.voice())
      #expect(error.code == .connectionLost && error.mayHaveTakenEffect)
      #expect(try await sandbox.requests(Self.add) == 1, "nothing is sent twice")
      #expect(try await client.voices(labelled: "parley_key", "k-1").count == 1)
      let effects = try await sandbox.effects("voices")
      #expect(effects["existing"] == 1 && effects["paidTwice"] == 0 && effects["byRequestId"] == ["r-1": 1])
      _ = try await client.addVoice(Self.voice())
      #expect(try await sandbox.effects("voices")["paidTwice"] == 1, "whoever asks twice pays twice")
    }
  }

  @Test("Refusals are told apart: key, quota, number of voices, limits of rate and of concurrency")
  func refusals() async throws {
    try await SandboxProcess.run { sandbox in
      let client = Self.client(sandbox)
      #expect(try await Self.failure(Self.client(sandbox, key: "wrong"), Self.voice()).code == .unauthorized)
      let faults: [(JSONObject, ProviderError.Code)] = [
        (["status": 401, "code": "quota_exceeded"], .quotaExceeded), (["status": 429], .rateLimited),
        (["status": 429, "code": "concurrent_limit_exceeded"], .concurrencyLimited), (["status": 503], .overloaded),
        (["status": 400, "code": "can_not_use_instant_voice_cloning"], .cloningNotAllowed), (["status": 500], .serverFailed),
      ]
      for (fault, code) in faults {
        var fault = fault
        fault["count"] = 1
        try await sandbox.fail(Self.add, fault)
        #expect(try await Self.failure(client, Self.voice()).code == code)
      }
      try await sandbox.control(.post, "elevenlabs/settings", ["voiceLimit": 0])
      let full = try await Self.failure(client, Self.voice())
      #expect(full.code == .voiceLimitReached && full.isPermanent)
      var text = Self.voice()
      text.samples = [.init(filename: "a.txt", mediaType: "text/plain", bytes: [1])]
      #expect(try await Self.failure(client, text).code == .invalidRequest)
      #expect(try await sandbox.effects("voices")["paid"] == 0)
    }
  }

  @Test("A question that fails for a moment is asked again")
  func repeated() async throws {
    try await SandboxProcess.run { sandbox in
      let client = Self.client(sandbox)
      let made = try await client.addVoice(Self.voice())
      try await sandbox.fail("/elevenlabs/v2/voices", ["status": 503, "count": 1])
      try await sandbox.fail("/elevenlabs/voice-deletion", ["drop": true, "after": true, "count": 1])
      #expect(try await client.voices().count == 1)
      // The first removal was done though its answer was lost: the second one finds it gone.
      #expect(try await !client.deleteVoice(made.id))
      #expect(try await client.voices().isEmpty)
    }
  }
}
