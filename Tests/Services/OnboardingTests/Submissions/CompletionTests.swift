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
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("All answers at once", .serialized)
struct CompletionTests {
  @Test("O-22, O-29, O-34: forty-five answers with fifteen recordings come through, and every byte of them is kept")
  func whole() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let state = try OnboardingWorld.record()
      let request = CompleteRequest(state: state, voiceConsent: .init(isGiven: true, statement: "voice-1"))
      let answer = try await world.client.complete(request, options: OnboardingWorld.options(ana))
      #expect(answer.success && answer.totalSteps == 45 && answer.filesProcessed == 15)
      #expect(answer.submission?.stage == .done && answer.submission?.percent == 100, "\(answer)")
      #expect(answer.identityExtraction?.success == true && answer.identityExtraction?.voiceTranscribed == 15)
      #expect(answer.identityExtraction?.fieldsExtracted == 60)
      #expect(answer.voiceClone?.success == true && answer.processingWarnings == nil)
      try world.expectFiles(of: state, ana)
      #expect(try await world.value("select count(*) from onboarding.staged_bytes", as: Int64.self) == 0)
      let paid = try await world.sandbox.effects("transcriptions")
      #expect(paid["paid"]?.int64 == 15 && paid["paidTwice"]?.int64 == 0)
    }
  }

  @Test("O-21: the body of the first app is taken as it is, by REST and by Connect, and answered at the top level")
  func firstApp() async throws {
    try await OnboardingWorld.with { world in
      for (index, path) in ["/onboarding/v3/complete", "/parley.onboarding.v1.OnboardingService/Complete"].enumerated() {
        let user = try await world.signIn("user \(index)")
        let state = try OnboardingWorld.record(voices: 2, variant: index)
        let body: JSONObject = [
          "userId": .string(user.userID.description), "voipToken": .null, "state": try JSONParser.parse(try state.jsonBytes()),
        ]
        let (status, answer) = try await world.post(path, JSONValue.object(body).encoded(), as: user)
        #expect(status == 200, "\(answer)")
        #expect(answer["success"]?.bool == true && answer["totalSteps"]?.int64 == 45 && answer["filesProcessed"]?.int64 == 2)
        #expect(answer["completedAt"]?.string?.hasSuffix("Z") == true && answer["message"]?.string?.isEmpty == false)
        #expect(answer["identityExtraction"]?["success"]?.bool == true, "\(answer)")
        #expect(answer["identityExtraction"]?["voiceTranscribed"]?.int64 == 2)
      }
    }
  }

  @Test("O-26, O-27: the same content again is answered from the first time, and other content takes its place")
  func again() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let first = try OnboardingWorld.record(voices: 2)
      let answer = try await world.client.complete(.init(state: first, idempotencyKey: "first"), options: options)
      var late = first
      late.lastSavedAt = "2026-01-06T10:50:00.000Z"
      #expect(try await world.client.complete(.init(state: late), options: options) == answer)
      let reused = await #expect(throws: RPCError.self) {
        try await world.client.complete(
          .init(state: try OnboardingWorld.record(voices: 1), idempotencyKey: "first"), options: options)
      }
      #expect(reused?.code == .alreadyExists && reused?.reason == "IDEMPOTENCY_KEY_REUSED")
      #expect(try await world.sandbox.effects("transcriptions")["paid"]?.int64 == 2)
      var other = first
      other.responses["18"] = .written("eleven times")
      other.responses["45"] = nil
      let second = try await world.client.complete(.init(state: other), options: options)
      #expect(second.jobID != answer.jobID && second.totalSteps == 44 && second.filesProcessed == 2)
      // What was said is the same, so nothing was paid for it again.
      #expect(try await world.sandbox.effects("transcriptions")["paid"]?.int64 == 2)
      let progress = try await world.client.getProgress(options: options)
      #expect(progress.state?.responses.count == 44)
      #expect(progress.state?.responses["18"]?.value?.kind == .stringValue("eleven times"))
    }
  }

  @Test("O-26: other content while the first is worked on is refused, and the same is told how far it is")
  func running() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await world.sandbox.control(.post, "hold", ["path": "/openai/v1/audio/transcriptions", "count": 1])
      let state = try OnboardingWorld.record(voices: 1)
      let first = try await world.client.complete(.init(state: state, wait: .init()), options: options)
      #expect(first.success && first.identityExtraction?.error == "in_progress")
      try await world.sandbox.awaitHeld(1)
      let other = try OnboardingWorld.record(voices: 0)
      let refusal = await #expect(throws: RPCError.self) {
        try await world.client.complete(.init(state: other, wait: .init()), options: options)
      }
      #expect(refusal?.code == .aborted && refusal?.reason == "SUBMISSION_RUNNING")
      let save = await #expect(throws: RPCError.self) {
        try await world.client.saveAnswer(.init(step: 3, answer: .written("B")), options: options)
      }
      #expect(save?.reason == "SUBMISSION_RUNNING")
      let same = try await world.client.complete(.init(state: state, wait: .init()), options: options)
      #expect(same.jobID == first.jobID)
      try await world.sandbox.control(.delete, "hold")
      let end = try await world.client.complete(.init(state: state), options: options)
      #expect(end.jobID == first.jobID && end.submission?.stage == .done)
    }
  }

  @Test("O-28, O-35: a recording that cannot be read is a warning, its answer is kept as it came, and the others go on")
  func damaged() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      var state = try OnboardingWorld.record(voices: 3)
      let broken = ["2": "data:audio/m4a;base64,AAA*", "5": "data:audio/m4a;base64,aGVsbG8gd29ybGQgdGhpcyBpcyB0ZXh0"]
      for (step, text) in broken { state.responses[step]?.value = .init(kind: .stringValue(text)) }
      let answer = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
      #expect(answer.success && answer.filesProcessed == 1 && answer.submission?.stage == .done)
      let reasons = answer.submission?.warnings.map { "\($0.step) \($0.reason)" }
      #expect(reasons == ["2 audio_invalid_base64", "5 audio_unknown_format"], "\(reasons ?? [])")
      #expect(answer.processingWarnings?.contains("; ") == true)
      for (step, text) in broken {
        let kept: String? = try await world.value("select value from onboarding.answer where step = \(Int32(step) ?? 0)")
        #expect(kept == text)
      }
      // It is no answer, and may be megabytes: it is not read back.
      let progress = try await world.client.getProgress(options: OnboardingWorld.options(ana)).state
      #expect(broken.keys.allSatisfy { progress?.responses[$0]?.type == "voice" && progress?.responses[$0]?.value == nil })
      guard case .stringValue(let reference)? = progress?.responses["7"]?.value?.kind else { throw TimedOut("no recording") }
      #expect(reference.hasPrefix("recording:"))
    }
  }

  @Test("O-23, O-24, O-36: zone, name and window are taken from the answers, and the token of a device is held for its taker")
  func facts() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let request = CompleteRequest(
        state: try OnboardingWorld.record(voices: 0), pushToken: "abcdef",
        deviceMetadata: .init(type: "apns", deviceModel: "iPhone17,1"))
      _ = try await world.client.complete(request, options: OnboardingWorld.options(ana))
      let row: String? = try await world.value(
        "select name || '/' || zone || '/' || call_start || '/' || call_minutes || '/' || (device->>'deviceModel') from onboarding.submission"
      )
      #expect(row == "Ana 0/Europe/Berlin/1230/30/iPhone17,1")
      try await eventually {
        let held: String? = try await world.value(
          "select string_agg(kind, ' ' order by kind) from onboarding.job where kind not like 'onboarding.%'")
        return held == "accountability.begin calls.demo calls.register-device"
      }
      let ben = try await world.signIn("ben")
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 0)), options: OnboardingWorld.options(ben))
      let tokens: Int64? = try await world.value("select count(*) from onboarding.job where kind = 'calls.register-device'")
      #expect(tokens == 1)
    }
  }

  @Test("The token of every submission is held for its taker, and the newest is the one that came last")
  func tokens() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      for (variant, token) in ["first", "second", "first"].enumerated() {
        let request = CompleteRequest(
          voipToken: token, state: try OnboardingWorld.record(voices: 0, variant: variant), deviceMetadata: .init(type: "voip"))
        let answer = try await world.client.complete(request, options: OnboardingWorld.options(ana))
        #expect(answer.submission?.stage == .done)
        // The same content again has none of its own.
        _ = try await world.client.complete(request, options: OnboardingWorld.options(ana))
        world.parley.clock.advance(by: .seconds(1))
      }
      let held: String? = try await world.value(
        """
        select string_agg(convert_from(payload, 'UTF8')::jsonb->>'token', ' ' order by enqueued_at) from onboarding.job
        where kind = 'calls.register-device'
        """)
      #expect(held == "first second first")
    }
  }

  @Test("O-25: without a session it is 401, without a subscription 402 with the way to the paywall, as somebody else 403")
  func door() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let ben = try await world.parley.signIn("ben")
      let body = try OnboardingWorld.body(try OnboardingWorld.record(voices: 0))
      let nobody = try await world.post("/onboarding/v3/complete", body, as: nil)
      #expect(nobody.status == 401)
      let unpaid = try await world.post("/onboarding/v3/complete", body, as: ben)
      #expect(unpaid.status == 402 && unpaid.body["requiresSubscription"]?.bool == true)
      let foreign = try await world.post(
        "/onboarding/v3/complete",
        Array(#"{"userId":"\#(ben.userID)","state":{"responses":{"3":{"type":"text","value":"x"}}}}"#.utf8),
        as: ana)
      #expect(foreign.status == 403 && foreign.body["code"]?.string == "NOT_YOUR_OWN")
      for wrong in ["{", "{}", #"{"state":{}}"#, #"{"state":{"responses":{"100":{"type":"text"}}}}"#, #"{"state":7}"#] {
        #expect(try await world.post("/onboarding/v3/complete", Array(wrong.utf8), as: ana).status == 400, "\(wrong)")
      }
      #expect(try await world.value("select count(*) from onboarding.submission", as: Int64.self) == 0)
    }
  }

  @Test("O-52: both forms of keys, both spellings of names, and values that are text, lists or objects")
  func forms() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let body = #"""
        {"user_id": "", "state": {"current_step": 45, "userName": "Ana", "responses": {
          "step_3": {"type": "text", "value": "Ana", "timestamp": "2026-01-05T10:00:00Z"},
          "11": {"type": "dual_sliders", "value": [7, 9.5]}, "step_37": {"type": "time_window_picker", "value": {"start": "23:45", "end": "00:15"}},
          "43": {"type": "long_press_activate", "value": true, "duration": 7.5, "audio_file_size": 12},
          "18": {"type": "text", "value": 12, "db_field": ["quit_counter"]}, "99": {"type": "something_new", "value": {"a": 1}}}}}
        """#
      let (status, answer) = try await world.post("/onboarding/v3/complete", Array(body.utf8), as: ana)
      #expect(status == 200 && answer["totalSteps"]?.int64 == 6, "\(answer)")
      let kept: String? = try await world.value(
        "select string_agg(step || '=' || value, ' ' order by step) from onboarding.answer")
      #expect(kept == #"3=Ana 11=7,9.5 18=12 37=23:45-00:15 43=true 99={"a":1}"#)
      let window: String? = try await world.value("select call_start || '+' || call_minutes from onboarding.submission")
      #expect(window == "1425+30")
      let facts: String? = try await world.value(
        "select string_agg(name || '=' || value, ' ' order by name) from onboarding.identity_field where source = 'answer'")
      #expect(
        facts
          == "contract_seal=true evening_call_time=23:45-00:15 identity_name=Ana motivation_desire_intensity=9.5 motivation_fear_intensity=7 quit_counter=12"
      )
    }
  }

  @Test("O-41: more than 64 MiB is refused with the name of the method that takes it, and more answers than sixty with a reason")
  func tooLarge() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      var state = try OnboardingWorld.record(voices: 0)
      let large = String(repeating: "A", count: (64 << 20) + 1)
      state.responses["2"]?.value = .init(kind: .stringValue("data:audio/m4a;base64,\(large)"))
      let refusal = await #expect(throws: RPCError.self) {
        try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
      }
      #expect(refusal?.code == .resourceExhausted && refusal?.reason == "REQUEST_TOO_LARGE", "\(refusal as Any)")
      guard case .errorInfo(_, _, let hints)? = refusal?.details.first else { throw TimedOut("hints") }
      #expect(hints["alternative"] == "UploadRecording")
      let body = Array(#"{"state":{"responses":{"2":{"type":"voice","value":"data:audio/m4a;base64,"#.utf8) + Array(large.utf8)
      let rest = try await world.post("/onboarding/v3/complete", body, as: ana)
      #expect(rest.status == 413 && rest.body["code"]?.string == "REQUEST_TOO_LARGE", "\(rest)")
      #expect(rest.body["error"]?.string?.contains("UploadRecording") == true)
      var many = OnboardingState()
      for step in 1...61 { many.responses["\(step)"] = .written("x") }
      let refused = await #expect(throws: RPCError.self) {
        try await world.client.complete(.init(state: many), options: OnboardingWorld.options(ana))
      }
      #expect(refused?.code == .invalidArgument)
    }
  }

  @Test("Who is not signed in, or has not paid, learns it from the headers alone: their answers are not received")
  func strangers() async throws {
    try await OnboardingWorld.with { world in
      let poor = try await world.parley.signIn("poor")
      let address = try #require(world.instance.addresses.grpc)
      let service = "/\(ParleyAPI.OnboardingService.descriptor.name)/"
      try await world.parley.loops.loops[0].perform {
        let peer = try await HTTP2Peer.open(to: address, on: world.parley.loops.loops[0])
        var stream: UInt32 = 1
        /// What is said of a request whose body never comes.
        func status(_ path: String, _ type: String, _ field: String, as user: TestUser?) async throws -> String? {
          let own = user.map { [("authorization", "Bearer \($0.accessToken)")] } ?? []
          let fields = [("content-type", type), ("content-length", "\(60 << 20)"), ("te", "trailers")] + own
          peer.send(.headers(stream, HTTP2Peer.httpHeaders("POST", path, fields)))
          let answer = try await peer.response(stream)
          stream += 2
          return answer.value(field)
        }
        for method in ["Complete", "SaveAnswer", "Transcribe"] {
          #expect(try await status(service + method, "application/grpc", "grpc-status", as: nil) == "16", "\(method)")
          #expect(try await status(service + method, "application/proto", ":status", as: nil) == "401", "\(method)")
        }
        #expect(try await status(service + "Complete", "application/grpc", "grpc-status", as: poor) == "9")
        for path in ["/onboarding/v3/complete", "/transcribe/audio"] {
          #expect(try await status(path, "application/json", ":status", as: nil) == "401", "\(path)")
          #expect(try await status(path, "application/json", ":status", as: poor) == "402", "\(path)")
        }
        peer.close()
      }
    }
  }
}
