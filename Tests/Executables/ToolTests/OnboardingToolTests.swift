import ClientCore
import EventLoop
import Glibc
import JSON
import ParleyAPI
import RPC
import ScriptedOnboarding
import Synchronization
import TestSupport
import Testing
import WellKnown

@testable import parley

@Suite("Command line: onboarding") struct OnboardingToolTests {
  private let home: Home
  private let accounts = StubAccounts()
  private let service = ScriptedOnboarding()

  init() throws { home = try Home() }

  /// Somebody who is signed in at one address, and the onboarding service at another.
  private func signedIn(_ body: @escaping @Sendable ([String: String]) async throws -> Void) async throws {
    let (home, accounts, service) = (home, accounts, service)
    try await RunningSandbox.run { running in
      try await accounts.serve { target in
        let group = try EventLoopGroup(count: 1, name: "onboarding", blockingThreads: 1)
        defer { group.shutDown() }
        try await service.serve(on: group, with: [IdentityService.routes(StubOnboardingAdmin())]) { port in
          let environment = [
            "HOME": home.path, "PARLEY_TARGET": target, "PARLEY_ONBOARDING_TARGET": "127.0.0.1:\(port)",
            "PARLEY_SANDBOX": running.url, "PARLEY_AUDIENCE": "app", "PARLEY_CA_FILE": running.caFile.path,
          ]
          #expect(try await ToolProcess.parley(["login"], environment: environment).status == 0)
          let session = accounts.state.withLock { $0.sessions.keys.first ?? "" }
          service.change { $0.bearer = accounts.accessToken(of: session) }
          try await body(environment)
        }
      }
    }
  }

  private func parley(_ environment: [String: String], _ arguments: String...) async throws -> ToolProcess.Ending {
    try await ToolProcess.parley(["onboarding"] + arguments, environment: environment)
  }

  private static let record = """
    {"current_step": 45, "is_completed": true, "completed_at": "2026-01-01T00:00:00Z", "responses": {
      "step_3": {"type": "text", "value": "Ana", "timestamp": "2026-01-01T00:00:00Z"},
      "step_5": {"type": "voice", "value": "data:audio/m4a;base64,AQID", "timestamp": "2026-01-01T00:00:00Z"}}}
    """

  @Test("O-38: a stored record is pushed and followed, with a line for each stage and the end as a table or as JSON")
  func push() async throws {
    let service = service
    try await signedIn { environment in
      let file = try ScratchFile(Array(Self.record.utf8))
      let ending = try await parley(environment, "push", file.path, "--watch", "--voip-token", "abcd")
      #expect(ending.status == 0, "\(ending.errors)")
      let lines = ending.errors.split(separator: "\n").map(String.init)
      #expect(lines.first == "Onboarding: 2 responses, Step 45, 100% (COMPLETED)")
      #expect(lines.contains("[#########---------------]  40%  Uploading your responses."))
      #expect(lines.contains("[###################-----]  80%  Listening to your recordings: 1 of 2."))
      #expect(lines.last == "[########################] 100%  All set.")
      #expect(!ending.errors.contains("\r"))
      #expect(ending.output.contains("fields       60\n") && ending.output.contains("stage        done\n"), "\(ending.output)")
      #expect(service.state.completes.first?.voipToken == "abcd" && service.state.completes.first?.voiceConsent == nil)
      // The same file is the same push.
      let again = try await parley(environment, "push", file.path, "--watch", "--json", "--voip-token", "abcd")
      #expect(try parsed(again.output)["identity_extraction"]?["fields_extracted"]?.int64 == 60, "\(again.errors)")
      #expect(service.state.completes.count == 2 && service.state.taken.count == 1)
      let brief = try await parley(environment, "push", file.path, "--consent", "--upload")
      #expect(brief.status == 0 && brief.output.contains("stage        received\n"), "\(brief.errors)")
      #expect(service.state.completes.last?.voiceConsent?.isGiven == true && service.state.uploads.count == 1)
    }
  }

  @Test("O-08: a body without the flag is complete; one that says that it is not is not pushed")
  func unflagged() async throws {
    let service = service
    try await signedIn { environment in
      let answer = #""responses": {"3": {"type": "text", "value": "Ana"}}"#
      for (text, status) in [
        ("{\(answer)}", 0), ("{\"state\": {\(answer)}}", 0), ("{\"isCompleted\": false, \(answer)}", 64),
      ] as [(String, Int32)] {
        let file = try ScratchFile(Array(text.utf8))
        let ending = try await parley(environment, "push", file.path)
        #expect(ending.status == status, "\(ending.errors)")
        #expect(ending.errors.contains(status == 0 ? "(COMPLETED)" : "Complete onboarding first."))
      }
      #expect(service.state.completes.allSatisfy { $0.state?.isCompleted == true } && service.state.taken.count == 1)
    }
  }

  @Test("O-01, O-20: --sample answers every step of the catalogue, with recordings that are as long as it asks for")
  func sample() async throws {
    let service = service
    try await signedIn { environment in
      let ending = try await parley(environment, "push", "--sample", "--watch", "--json")
      #expect(ending.status == 0, "\(ending.errors)")
      let answers = try #require(service.state.completes.first?.state?.responses)
      #expect(Set(answers.keys) == ["2", "3", "5", "6", "11", "37", "43"])
      #expect(answers["2"]?.duration == 10 && answers["5"]?.duration == 1.5 && answers["2"]?.audioFileSize == 80_044)
      #expect(answers["6"]?.selectedOption == "no time" && answers["11"]?.sliders == [7, 9] && answers["43"]?.duration == 7)
      #expect(answers["3"]?.value?.kind == .stringValue("Ana") && answers["37"]?.dbField == ["evening_call_time"])
      #expect(service.state.completes.first?.state?.isCompleted == true)
    }
  }

  @Test("O-13: what the service refuses ends the command with 1 or 69, and says what to do")
  func refused() async throws {
    let service = service
    try await signedIn { environment in
      let file = try ScratchFile(Array(Self.record.utf8))
      service.change { $0.isSubscribed = false }
      let unpaid = try await parley(environment, "push", file.path, "--watch")
      #expect(unpaid.status == 1 && unpaid.errors.contains("SUBSCRIPTION_REQUIRED"), "\(unpaid.errors)")
      #expect(unpaid.errors.contains("Failed to push: ") && unpaid.errors.contains("Choose a plan to go on."))
      service.change { $0.isSubscribed = true }
      var nowhere = environment
      nowhere["PARLEY_ONBOARDING_TARGET"] = "127.0.0.1:1"
      let unreached = try await parley(nowhere, "push", file.path)
      #expect(unreached.status == 69 && unreached.errors.contains("Try again."), "\(unreached.errors)")
      var stranger = environment
      stranger["HOME"] = "/nonexistent"
      let unknown = try await parley(stranger, "push", file.path, "--json")
      #expect(unknown.status == 1 && unknown.errors.contains("NOT_SIGNED_IN"), "\(unknown.errors)")
      #expect(service.state.completes.isEmpty)
    }
  }

  @Test("Status, steps and identity are told as tables and as JSON")
  func lookUps() async throws {
    try await signedIn { environment in
      let file = try ScratchFile(Array(Self.record.utf8))
      _ = try await parley(environment, "push", file.path)
      let status = try await parley(environment, "status")
      #expect(status.status == 0 && status.output.contains("answers  2\n") && status.output.contains("done\n"), "\(status)")
      #expect(try parsed(try await parley(environment, "status", "--json").output)["submission"]?["percent"]?.int64 == 100)
      // Nobody need be signed in for the steps.
      var stranger = environment
      stranger["HOME"] = nil
      let steps = try await parley(stranger, "steps")
      #expect(steps.output.contains("2     WARNING_INITIATION  voice") && steps.errors == "version 3\n", "\(steps)")
      #expect(try parsed(try await parley(stranger, "steps", "--json").output)["steps"]?.array?.count == 8)
      let identity = try await parley(environment, "identity")
      #expect(identity.output.contains("war_cry  Go\\u{1b}[31m  transcript  35\n"), "\(identity)")
      #expect(
        try parsed(try await parley(environment, "identity", "--json").output)["identity"]?["fields"]?.array?.first?["step"]?
          .int64
          == 35)
    }
  }

  @Test(
    "O-19: a file that is no record, or has the path of a file for an answer, ends the command with 64 before anything is sent",
    arguments: [
      "", "[]", "{}", #"{"responses": {"5": {"type": "voice", "value": "file:///tmp/a.m4a"}}}"#,
      #"{"state": {"responses": {"5": {"type": "voice", "value": "/tmp/a.m4a"}}}}"#,
    ])
  func unreadable(_ text: String) async throws {
    let file = try ScratchFile(Array(text.utf8))
    let ending = try await ToolProcess.parley(
      ["onboarding", "push", file.path, "--target", "127.0.0.1:1"], environment: ["HOME": home.path])
    #expect(ending.status == 64 && ending.errors.contains("is no record of answers"), "\(ending.errors)")
  }

  @Test(
    "Wrong usage ends with 64 and says what is wrong",
    arguments: [
      (["push"], "--sample"), (["push", "a", "--sample"], "--sample"), (["push", "a", "--recordings", "b"], "--recordings"),
      (["push", "/nonexistent"], "cannot read"), (["push", "--sample", "--recordings", "/nonexistent"], "cannot be read"),
      (["status", "--onboarding", "x"], "is no target"),
    ])
  func usage(_ arguments: [String], _ text: String) async throws {
    let ending = try await ToolProcess.parley(
      ["onboarding"] + arguments + ["--target", "127.0.0.1:1"], environment: ["HOME": home.path])
    #expect(ending.status == 64 && ending.errors.contains(text), "\(ending.errors)")
  }

  @Test("O-43, O-44: operators see what became of answers and have what failed tried again, as themselves")
  func operators() async throws {
    let (admin, users) = (StubOnboardingAdmin(), StubUsers())
    let group = try EventLoopGroup(count: 1, name: "admin", blockingThreads: 1)
    defer { group.shutDown() }
    try await OperatorPlace.serve([OnboardingAdminService.routes(admin), UserAdminService.routes(users)], on: group) { place in
      func run(_ arguments: String...) async throws -> ToolProcess.Ending {
        try await ToolProcess.parley(["admin", "onboarding"] + arguments, environment: place.environment)
      }
      let shown = try await run("show", "cy@example.org")
      #expect(shown.status == 0 && shown.output.contains("stage       transcribing\n"), "\(shown.errors)")
      #expect(shown.output.contains("34 (20 answer, 14 model)") && shown.output.contains("failed: too_little_audio"))
      #expect(shown.output.contains("step 5: step 5\\u{1b}[31m was not heard"))
      #expect(shown.output.contains("rounds      3 left\n"), "\(shown.output)")
      let json = try parsed(try await run("show", "user-3", "--json").output)
      #expect(json["fields_extracted"]?.int64 == 34 && json["recordings"]?.array?.count == 1)
      #expect(try await run("retry-transcription", "user-3").output == "1 recording tried again\n")
      #expect(try await run("retry-transcription", "google:sub-cy", "--silent-too").output == "2 recordings tried again\n")
      #expect(try await run("retry-identity", "user-3").output == "tried again\n")
      #expect(try await run("retry-clone", "user-3").output == "is being done already\n")
      let who = "spiffe://parley/operator"
      #expect(
        admin.asked.withLock { $0 } == [
          "InspectOnboarding user-3 \(who)", "InspectOnboarding user-3 \(who)", "RetryTranscription user-3 false \(who)",
          "RetryTranscription user-3 true \(who)", "RetryIdentityExtraction user-3 \(who)", "RetryVoiceClone user-3 \(who)",
        ])
    }
  }

  @Test("O-46: operators list those for whom something is unfinished, page by page, with part, reason and time")
  func unfinished() async throws {
    let (admin, users) = (StubOnboardingAdmin(), StubUsers())
    let group = try EventLoopGroup(count: 1, name: "admin", blockingThreads: 1)
    defer { group.shutDown() }
    try await OperatorPlace.serve([OnboardingAdminService.routes(admin), UserAdminService.routes(users)], on: group) { place in
      func run(_ arguments: String...) async throws -> ToolProcess.Ending {
        try await ToolProcess.parley(["admin", "onboarding", "list"] + arguments, environment: place.environment)
      }
      let listed = try await run()
      let lines = listed.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
      #expect(listed.status == 0 && lines.first == ["USER", "PART", "REASON", "COUNT", "SINCE"], "\(listed)")
      #expect(
        lines.dropFirst().map { Array($0.prefix(4)) } == [
          ["user-3", "voice", "quota_exceeded", "1"], ["user-5", "voice", "timeout", "1"],
        ])
      let json = try parsed(try await run("--json", "--limit", "1").output)["people"]?.array
      #expect(json?.count == 1 && json?.first?["parts"]?.array?.first?["reason"]?.string == "quota_exceeded", "\(json as Any)")
      #expect(try await run("--limit", "0").status == 64)
      let who = "spiffe://parley/operator"
      #expect(
        admin.asked.withLock { $0 } == ["ListUnfinished  \(who)", "ListUnfinished user-3 \(who)", "ListUnfinished  \(who)"])
    }
  }

  @Test("The bar is as long as the percentage says, and stays where it was at a failure")
  func bar() {
    #expect(PushBar.line(.idle, 0) == "[------------------------]   0%  Almost there.")
    #expect(PushBar.line(.uploading(done: 3, total: 15), 40).hasSuffix("40%  Uploading your responses: 3 of 15 recordings."))
    #expect(PushBar.line(.analyzing(.init(stage: .cloning)), 80) == "[###################-----]  80%  Learning your voice.")
  }
}
