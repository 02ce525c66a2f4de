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

@Suite("The first app's body", .serialized)
struct FirstAppBodyTests {
  /// How a body gets in.
  enum Way: CaseIterable, CustomTestStringConvertible {
    case grpc, connect, rest

    var testDescription: String { "\(self)" }
  }

  @Test("O-18, O-29: fifteen recordings are kept byte for byte, whichever way they come", arguments: Way.allCases)
  func bytes(_ way: Way) async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let state = try OnboardingWorld.record()
      switch way {
      case .grpc:
        let answer = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
        #expect(answer.filesProcessed == 15)
      case .connect, .rest:
        let path = way == .rest ? "/onboarding/v3/complete" : "/parley.onboarding.v1.OnboardingService/Complete"
        let (status, answer) = try await world.post(path, try OnboardingWorld.body(state), as: ana)
        #expect(status == 200 && answer["filesProcessed"]?.int64 == 15, "\(answer)")
      }
      #expect(try OnboardingWorld.recordings(in: state).count == 15)
      try world.expectFiles(of: state, ana)
    }
  }

  @Test("O-21, O-22, O-24: the body as the first app writes it, 45 answers with 12 recordings, is answered with every member")
  func sample() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let sent = try Self.body(of: ana)
      let (status, answer) = try await world.post("/onboarding/v3/complete", Array(sent.utf8), as: ana)
      #expect(status == 200 && answer["success"] == true && answer["message"] == "Onboarding is complete.", "\(answer)")
      #expect(answer["totalSteps"] == 45 && answer["filesProcessed"] == 12, "\(answer)")
      #expect(answer["completedAt"]?.string?.hasSuffix("Z") == true && answer["jobId"]?.string?.count == 36)
      #expect(answer["identityExtraction"] == ["success": true, "fieldsExtracted": 60, "voiceTranscribed": 12], "\(answer)")
      #expect(answer["identityStatusSync"] == ["success": false, "error": "held"], "\(answer)")
      #expect(answer["voiceClone"] == ["success": false, "error": "no_consent"] && answer["processingWarnings"] == nil)
      let facts: String? = try await world.value(
        """
        select answers || ' ' || recordings || ' ' || name || ' ' || zone || ' ' || call_start || '+' || call_minutes
        from onboarding.submission
        """)
      #expect(facts == "45 12 Ana UTC 1230+30")
      let spoken: String? = try await world.value(
        "select type || ' ' || duration_seconds || ' ' || audio_format || ' ' || voice_uri from onboarding.answer where step = 5")
      #expect(spoken == "voice 5.2 m4a file:///recordings/step_5.m4a")
      #expect(
        try await world.value("select count(*) from onboarding.job where kind = 'calls.register-device'", as: Int64.self) == 0)
      // Once more, as after an answer that was lost.
      let again = try await world.post("/onboarding/v3/complete", Array(sent.utf8), as: ana)
      #expect(again.status == 200 && again.body == answer)
      #expect(try await world.sandbox.effects("transcriptions")["paid"]?.int64 == 12)
    }
  }

  /// What the app puts together of its stored record: the source document's sample, with all of its 45 answers.
  private static func body(of user: TestUser) throws -> String {
    let recordings = try (0..<12).map { try SpokenFiles.m4a($0) }
    func url(_ number: Int) -> String { "data:audio/m4a;base64,\(Data(recordings[number]).base64EncodedString())" }
    func size(_ number: Int) -> Int { recordings[number].count }
    return """
      {
        "userId": "\(user.userID)",
        "voipToken": null,
        "state": {
          "currentStep": 45,
          "responses": {
            "1": {"type": "text", "value": "I understood the warning", "timestamp": "2025-01-20T10:01:00.000Z"},
            "2": {
              "type": "voice", "value": "\(url(0))", "timestamp": "2025-01-20T10:02:00.000Z",
              "voiceUri": "file:///recordings/step_2.m4a", "duration": 5.2, "audioFileSize": \(size(0)), "audioFormat": "m4a"
            },
            "3": {"type": "text", "value": "Ana", "timestamp": "2025-01-20T10:03:00.000Z"},
            "4": {"type": "text", "value": "read", "timestamp": "2025-01-20T10:04:00.000Z"},
            "5": {
              "type": "voice", "value": "\(url(1))", "timestamp": "2025-01-20T10:05:00.000Z",
              "voiceUri": "file:///recordings/step_5.m4a", "duration": 5.2, "audioFileSize": \(size(1)), "audioFormat": "m4a"
            },
            "6": {"type": "choice", "value": "Too tired", "timestamp": "2025-01-20T10:06:00.000Z"},
            "7": {
              "type": "voice", "value": "\(url(2))", "timestamp": "2025-01-20T10:07:00.000Z",
              "voiceUri": "file:///recordings/step_7.m4a", "duration": 5.2, "audioFileSize": \(size(2)), "audioFormat": "m4a"
            },
            "8": {"type": "text", "value": "read", "timestamp": "2025-01-20T10:08:00.000Z"},
            "9": {"type": "text", "value": "Late at night, on my phone", "timestamp": "2025-01-20T10:09:00.000Z"},
            "10": {
              "type": "voice", "value": "\(url(3))", "timestamp": "2025-01-20T10:10:00.000Z",
              "voiceUri": "file:///recordings/step_10.m4a", "duration": 5.2, "audioFileSize": \(size(3)), "audioFormat": "m4a"
            },
            "11": {"type": "dual_sliders", "value": "7,9", "timestamp": "2025-01-20T10:11:00.000Z"},
            "12": {"type": "choice", "value": "Overthinking", "timestamp": "2025-01-20T10:12:00.000Z"},
            "13": {"type": "text", "value": "read", "timestamp": "2025-01-20T10:13:00.000Z"},
            "14": {
              "type": "voice", "value": "\(url(4))", "timestamp": "2025-01-20T10:14:00.000Z",
              "voiceUri": "file:///recordings/step_14.m4a", "duration": 5.2, "audioFileSize": \(size(4)), "audioFormat": "m4a"
            },
            "15": {"type": "choice", "value": "Myself", "timestamp": "2025-01-20T10:15:00.000Z"},
            "16": {
              "type": "voice", "value": "\(url(5))", "timestamp": "2025-01-20T10:16:00.000Z",
              "voiceUri": "file:///recordings/step_16.m4a", "duration": 5.2, "audioFileSize": \(size(5)), "audioFormat": "m4a"
            },
            "17": {"type": "text", "value": "read", "timestamp": "2025-01-20T10:17:00.000Z"},
            "18": {"type": "text", "value": "Eleven times", "timestamp": "2025-01-20T10:18:00.000Z"},
            "19": {"type": "text", "value": "Run three kilometres", "timestamp": "2025-01-20T10:19:00.000Z"},
            "20": {"type": "text", "value": "06:30", "timestamp": "2025-01-20T10:20:00.000Z"},
            "21": {"type": "text", "value": "read", "timestamp": "2025-01-20T10:21:00.000Z"},
            "22": {
              "type": "voice", "value": "\(url(6))", "timestamp": "2025-01-20T10:22:00.000Z",
              "voiceUri": "file:///recordings/step_22.m4a", "duration": 5.2, "audioFileSize": \(size(6)), "audioFormat": "m4a"
            },
            "23": {
              "type": "voice", "value": "\(url(7))", "timestamp": "2025-01-20T10:23:00.000Z",
              "voiceUri": "file:///recordings/step_23.m4a", "duration": 5.2, "audioFileSize": \(size(7)), "audioFormat": "m4a"
            },
            "24": {"type": "choice", "value": "Confrontation", "timestamp": "2025-01-20T10:24:00.000Z"},
            "25": {"type": "text", "value": "read", "timestamp": "2025-01-20T10:25:00.000Z"},
            "26": {
              "type": "voice", "value": "\(url(8))", "timestamp": "2025-01-20T10:26:00.000Z",
              "voiceUri": "file:///recordings/step_26.m4a", "duration": 5.2, "audioFileSize": \(size(8)), "audioFormat": "m4a"
            },
            "27": {
              "type": "voice", "value": "\(url(9))", "timestamp": "2025-01-20T10:27:00.000Z",
              "voiceUri": "file:///recordings/step_27.m4a", "duration": 5.2, "audioFileSize": \(size(9)), "audioFormat": "m4a"
            },
            "28": {"type": "text", "value": "read", "timestamp": "2025-01-20T10:28:00.000Z"},
            "29": {"type": "text", "value": "Weight: 74 kg", "timestamp": "2025-01-20T10:29:00.000Z"},
            "30": {"type": "text", "value": "2026-06-01", "timestamp": "2025-01-20T10:30:00.000Z"},
            "31": {
              "type": "voice", "value": "\(url(10))", "timestamp": "2025-01-20T10:31:00.000Z",
              "voiceUri": "file:///recordings/step_31.m4a", "duration": 5.2, "audioFileSize": \(size(10)), "audioFormat": "m4a"
            },
            "32": {"type": "text", "value": "read", "timestamp": "2025-01-20T10:32:00.000Z"},
            "33": {"type": "text", "value": "90", "timestamp": "2025-01-20T10:33:00.000Z"},
            "34": {"type": "choice", "value": "Comfort", "timestamp": "2025-01-20T10:34:00.000Z"},
            "35": {
              "type": "voice", "value": "\(url(11))", "timestamp": "2025-01-20T10:35:00.000Z",
              "voiceUri": "file:///recordings/step_35.m4a", "duration": 5.2, "audioFileSize": \(size(11)), "audioFormat": "m4a"
            },
            "36": {"type": "text", "value": "read", "timestamp": "2025-01-20T10:36:00.000Z"},
            "37": {"type": "time_window_picker", "value": "20:30-21:00", "timestamp": "2025-01-20T10:37:00.000Z"},
            "38": {"type": "text", "value": "My sister", "timestamp": "2025-01-20T10:38:00.000Z"},
            "39": {"type": "choice", "value": "3 strikes", "timestamp": "2025-01-20T10:39:00.000Z"},
            "40": {"type": "text", "value": "read", "timestamp": "2025-01-20T10:40:00.000Z"},
            "41": {"type": "text", "value": "I swear it", "timestamp": "2025-01-20T10:41:00.000Z"},
            "42": {"type": "text", "value": "I am somebody who finishes", "timestamp": "2025-01-20T10:42:00.000Z"},
            "43": {"type": "long_press_activate", "value": "true", "timestamp": "2025-01-20T10:43:00.000Z", "duration": 7.0},
            "44": {"type": "text", "value": "I lose my word", "timestamp": "2025-01-20T10:44:00.000Z"},
            "45": {"type": "text", "value": "read", "timestamp": "2025-01-20T10:45:00.000Z"}
          },
          "totalResponses": 45,
          "progressPercentage": 100,
          "startedAt": "2025-01-20T10:00:00.000Z",
          "lastSavedAt": "2025-01-20T10:45:00.000Z",
          "isCompleted": true,
          "completedAt": "2025-01-20T10:45:00.000Z"
        }
      }
      """
  }
}
