import AuthDomain
import EventLoop
import Foundation
import JOSE
import JSON
import MessagesCore
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("What apps send as an answer", .serialized)
struct SentAnswerTests {
  private static func complete(_ answers: String, _ world: OnboardingWorld, _ user: TestUser) async throws -> JSONValue {
    let body = Array(#"{"state": {"responses": {\#(answers)}}}"#.utf8)
    let (status, answer) = try await world.post("/onboarding/v3/complete", body, as: user)
    #expect(status == 200, "\(answer)")
    return answer
  }

  private static func kept(_ world: OnboardingWorld) async throws -> String? {
    try await world.value("select string_agg(step || '=' || value, ' ' order by step) from onboarding.answer")
  }

  @Test("O-19, O-28: where a recording should be, a path or a link is a warning; it is kept, and nobody takes it for words")
  func places() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let path = "file:///var/mobile/Containers/Data/voice_2.m4a"
      let answer = try await Self.complete(
        """
        "2": {"type": "voice", "value": "\(path)"}, "5": {"type": "voice", "value": "https://example.com/a.m4a"},
        "7": {"type": "voice", "value": "/var/mobile/a.m4a"}, "10": {"type": "voice", "value": "I said it: and/or wrote it"},
        "19": {"type": "text", "value": "https://example.com/plan"}
        """, world, ana)
      let warnings = answer["submission"]?["warnings"]?.array?.compactMap { $0["reason"]?.string }
      #expect(warnings == ["audio_not_sent", "audio_not_sent", "audio_not_sent"], "\(answer)")
      let value: String? = try await world.value("select value from onboarding.answer where step = 2")
      #expect(value == path)
      let facts: String? = try await world.value(
        "select string_agg(name, ' ' order by name) from onboarding.identity_field where source <> 'model'")
      #expect(facts == "daily_non_negotiable procrastination_now")
      let alone = await #expect(throws: RPCError.self) {
        try await world.client.saveAnswer(
          .init(step: 5, answer: .init(type: "voice", value: .init(kind: .stringValue(path)))),
          options: OnboardingWorld.options(ana))
      }
      #expect(alone?.reason == "AUDIO_NOT_SENT")
    }
  }

  @Test("O-18, O-28: a data URL is one in whatever case, and in an object; one of something else is a warning at any length")
  func dataURLs() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let encoded = Data(try SpokenFiles.m4a(1)).base64EncodedString()
      let other = Data(try SpokenFiles.m4a(2)).base64EncodedString()
      let picture = "data:image/png;base64," + String(repeating: "A", count: 100_000)
      let answer = try await Self.complete(
        """
        "2": {"type": "voice", "value": "DATA:Audio/M4A;BASE64,\(encoded)"},
        "5": {"type": "voice", "value": {"uri": "Data:audio/mp4;base64,\(other)"}},
        "9": {"type": "text", "value": "\(picture)"}, "19": {"type": "text", "value": "data: I write it down, always"}
        """, world, ana)
      #expect(answer["filesProcessed"]?.int64 == 2, "\(answer)")
      let warnings = answer["submission"]?["warnings"]?.array?.map { "\($0["step"]?.int64 ?? 0) \($0["reason"]?.string ?? "")" }
      #expect(warnings == ["9 audio_unknown_format"], "\(answer)")
      let length: Int32? = try await world.value("select length(value) from onboarding.answer where step = 9")
      #expect(length == 100_022, "what came is kept")
      let facts: String? = try await world.value(
        "select string_agg(name || '=' || value, ' ' order by name) from onboarding.identity_field where source = 'answer'")
      #expect(facts == "daily_non_negotiable=data: I write it down, always")
      let progress = try await world.client.getProgress(options: OnboardingWorld.options(ana)).state
      #expect(progress?.responses["9"] != nil && progress?.responses["9"]?.value == nil, "it is not read back")
    }
  }

  @Test("O-52: where an answer has no value, the chosen option or the sliders are it")
  func fallbacks() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let answer = try await Self.complete(
        """
        "6": {"type": "choice", "selected_option": "Too tired"}, "12": {"type": "choice", "selectedOption": "Gaming", "value": ""},
        "15": {"type": "choice", "selected_option": "Myself", "value": "My parents"},
        "11": {"type": "dual_sliders", "sliders": [3, 8.5]}, "24": {"type": "choice", "value": null, "selected_option": ""}
        """, world, ana)
      #expect(answer["totalSteps"]?.int64 == 5, "\(answer)")
      #expect(try await Self.kept(world) == "6=Too tired 11=3,8.5 12=Gaming 15=My parents")
    }
  }

  @Test("O-02: an answer of each type is taken, and kept under the fields of its step")
  func types() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let encoded = Data(try SpokenFiles.m4a(1)).base64EncodedString()
      let answer = try await Self.complete(
        """
        "1": {"type": "explanation"}, "2": {"type": "voice", "value": "data:audio/m4a;base64,\(encoded)", "duration": 12.5},
        "3": {"type": "text", "value": "Ana"}, "6": {"type": "choice", "value": "Tomorrow"},
        "11": {"type": "dual_sliders", "value": "7,9"}, "37": {"type": "time_window_picker", "value": "20:30-21:00"},
        "43": {"type": "long_press_activate", "value": "true", "duration": 7},
        "50": {"type": "timezone_selection", "value": "Asia/Tokyo"}, "51": {"type": "time_picker", "value": "07:15"},
        "52": {"type": "visual_commitment_summary", "value": "seen"}
        """, world, ana)
      #expect(answer["totalSteps"]?.int64 == 10 && answer["filesProcessed"]?.int64 == 1, "\(answer)")
      #expect(answer["submission"]?["warnings"]?.array?.isEmpty != false)
      #expect(
        try await Self.kept(world)
          == "3=Ana 6=Tomorrow 11=7,9 37=20:30-21:00 43=true 50=Asia/Tokyo 51=07:15 52=seen")
      let fields: String? = try await world.value(
        "select string_agg(array_to_string(fields, '+'), ' ' order by step) from onboarding.answer where fields <> '{}'")
      #expect(
        fields
          == "voice_commitment identity_name favorite_excuse motivation_fear_intensity+motivation_desire_intensity evening_call_time contract_seal"
      )
      #expect(try await world.value("select zone from onboarding.submission", as: String.self) == "Asia/Tokyo")
    }
  }
}
