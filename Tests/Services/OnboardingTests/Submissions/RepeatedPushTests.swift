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

@Suite("The same answers again, with something new beside them", .serialized)
struct RepeatedPushTests {
  private static func held(_ kind: String, _ world: OnboardingWorld) async throws -> [JSONValue] {
    let text: String? = try await world.value(
      """
      select json_agg(convert_from(payload, 'UTF8')::json order by enqueued_at, id)::text from onboarding.job where kind = \(kind)
      """)
    return try JSONParser.parse(Array((text ?? "[]").utf8)).array ?? []
  }

  @Test("O-26, O-33: a consent that comes with the same answers again is kept, and the voice can be made")
  func consent() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let state = try OnboardingWorld.record(voices: 6)
      let first = try await world.client.complete(.init(state: state), options: options)
      #expect(first.voiceClone?.error == "no_consent")
      let again = CompleteRequest(state: state, voiceConsent: .init(isGiven: true, statement: "voice-2"))
      #expect(try await world.client.complete(again, options: options).jobID == first.jobID)
      let voice = try await world.voices.getVoice(options: options).voice
      #expect(voice?.statement == "voice-2" && voice?.consentedAt != nil, "\(voice as Any)")
      _ = try await world.voices.cloneVoice(.init(idempotencyKey: "afterwards"), options: options)
      try await eventually { try await world.voices.getVoice(options: options).voice?.state == .ready }
      // What is sent again may be what was sent before: it gives nothing back.
      _ = try await world.voices.withdrawVoiceConsent(options: options)
      #expect(try await world.client.complete(again, options: options).jobID == first.jobID)
      let withdrawn = try await world.voices.getVoice(options: options).voice
      #expect(withdrawn?.consentedAt == nil && withdrawn?.withdrawnAt != nil, "\(withdrawn as Any)")
      let wrong = await #expect(throws: RPCError.self) {
        try await world.client.complete(
          .init(state: state, voiceConsent: .init(isGiven: true, statement: "")), options: options)
      }
      #expect(wrong?.code == .invalidArgument)
    }
  }

  @Test("O-24, O-26: a token that comes with the same answers again is held for its taker, and the same token is held once")
  func token() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let state = try OnboardingWorld.record(voices: 0)
      let first = try await world.client.complete(.init(state: state), options: options)
      #expect(try await Self.held("calls.register-device", world).isEmpty)
      for token in ["a1b2", "a1b2", "c3d4"] {
        world.parley.clock.advance(by: .seconds(1))
        #expect(try await world.client.complete(.init(voipToken: token, state: state), options: options).jobID == first.jobID)
      }
      #expect(try await Self.held("calls.register-device", world).map { $0["token"]?.string } == ["a1b2", "c3d4"])
    }
  }

  @Test("O-23, O-24: what the app says of its device goes with the token; an empty token is none, and the other name counts then")
  func device() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let body: JSONObject = [
        "voipToken": "", "pushToken": "ffee", "state": try JSONParser.parse(try OnboardingWorld.record(voices: 0).jsonBytes()),
        "deviceMetadata": [
          "type": "apns", "device_model": "iPhone17,1", "os_version": "19.1", "app_version": "3.2", "locale": "de_DE",
          "timezone": "Europe/Vienna",
        ],
      ]
      let (status, answer) = try await world.post("/onboarding/v3/complete", JSONValue.object(body).encoded(), as: ana)
      #expect(status == 200, "\(answer)")
      #expect(answer["identityStatusSync"]?["success"]?.bool == false && answer["identityStatusSync"]?["error"]?.string == "held")
      #expect(
        try await Self.held("calls.register-device", world) == [
          [
            "user_id": .string(ana.userID.description), "token": "ffee", "type": "apns", "device_model": "iPhone17,1",
            "os_version": "19.1", "app_version": "3.2", "locale": "de_DE", "timezone": "Europe/Vienna",
          ]
        ])
      world.parley.clock.advance(by: .seconds(1))
      let ben = try await world.signIn("ben")
      let running = try await world.client.complete(
        .init(voipToken: "0a", state: try OnboardingWorld.record(voices: 0), wait: .init()), options: OnboardingWorld.options(ben)
      )
      #expect(running.identityStatusSync?.success == false && running.identityStatusSync?.error != nil)
      let bens = try await Self.held("calls.register-device", world).last
      #expect(bens == ["user_id": .string(ben.userID.description), "token": "0a", "type": "voip"])
    }
  }

  @Test("O-36, O-37: name, zone, window and completion go to whoever takes up a person's standing, with each submission")
  func facts() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let first = try await world.client.complete(.init(state: try OnboardingWorld.record(voices: 0)), options: options)
      let progress = try await world.client.getProgress(options: options).state
      #expect(progress?.isCompleted == true && progress?.userName == "Ana 0" && progress?.userTimezone == "Europe/Berlin")
      #expect(progress?.callTime == "20:30-21:00")
      let completedAt = try #require(progress?.completedAt)
      #expect(completedAt.hasSuffix("Z"))
      world.parley.clock.advance(by: .seconds(5))
      // Nothing is known but what the device says.
      var bare = OnboardingState()
      bare.responses["9"] = .written("evenings")
      let second = try await world.client.complete(
        .init(state: bare, deviceMetadata: .init(timezone: "America/Lima")), options: options)
      let held = try await Self.held("accountability.begin", world)
      let id = JSONValue.string(ana.userID.description)
      #expect(held.count == 2)
      #expect(
        held.first == [
          "user_id": id, "submission_id": .string(first.jobID), "name": "Ana 0", "zone": "Europe/Berlin",
          "completed_at": .string(completedAt), "call_start": 1_230, "call_minutes": 30,
        ], "\(held)")
      #expect(held.last?["submission_id"]?.string == second.jobID && held.last?["name"]?.string == "User")
      #expect(held.last?["zone"]?.string == "America/Lima" && held.last?["call_start"] == nil, "\(held)")
      try await eventually { try await Self.held("calls.demo", world) == [["user_id": id]] }
    }
  }

  @Test("O-36: what is pushed again as it was read back keeps the call window, also one that no answer says")
  func callWindow() async throws {
    try await OnboardingWorld.with { world in
      let options = OnboardingWorld.options(try await world.signIn("ana"))
      var state = OnboardingState(responses: ["9": .written("evenings")], callTime: "23:45-00:15")
      _ = try await world.client.complete(.init(state: state), options: options)
      let read = try #require(try await world.client.getProgress(options: options).state)
      #expect(read.callTime == "23:45-00:15")
      state = read
      state.responses["9"] = .written("mornings")
      world.parley.clock.advance(by: .seconds(5))
      _ = try await world.client.complete(.init(state: state), options: options)
      let kept: String? = try await world.value(
        "select string_agg(call_start || '+' || call_minutes, ' ') from onboarding.submission")
      #expect(kept == "1425+30 1425+30")
    }
  }
}
