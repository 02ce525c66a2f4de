import EventLoop
import Foundation
import JSON
import MessagesCore
import OnboardingDomain
import ParleyAPI
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@testable import OnboardingAPI

@Suite("Versions of the steps", .serialized)
struct StepVersionTests {
  private static func step(_ number: Int, _ more: String) -> String {
    #"{"step": \#(number), "phase": "P", \#(more)}"#
  }

  private static func document(_ version: Int, _ steps: String...) -> String {
    #"{"version": \#(version), "steps": [\#(steps.joined(separator: ", "))]}"#
  }

  private static let voice = #""type": "voice", "fields": ["why_now"], "minimum_seconds": 10, "topic": "why today""#

  /// What a folder with these documents comes to.
  private static func catalogues(_ documents: [String: String]) throws -> StepCatalogues {
    let folder = try ScratchFolder()
    for (name, text) in documents { try text.write(toFile: "\(folder.path)/\(name)", atomically: true, encoding: .utf8) }
    return try StepsFolder.catalogues(folder.path)
  }

  @Test("The newest version is that of the highest number, whatever its document is called; other files are passed over")
  func newest() throws {
    let catalogues = try Self.catalogues([
      "b.json": Self.document(2, Self.step(1, Self.voice)),
      "a.json": Self.document(10, Self.step(1, Self.voice), Self.step(2, #""type": "explanation""#)),
      "README.md": "not a document", ".hidden.json": "neither",
    ])
    #expect(catalogues.all.map(\.version) == [1, 2, 10])
    #expect(catalogues.newest.version == 10 && catalogues.catalogue(0)?.version == 10)
    #expect(catalogues.catalogue(1)?.steps.count == 45 && catalogues.catalogue(2)?.steps.count == 1)
    #expect(catalogues.catalogue(3) == nil && catalogues.catalogue(-1) == nil)
    #expect(try StepsFolder.catalogues(nil).all.map(\.version) == [1])
    #expect(try Self.catalogues([:]).newest.version == 1)
  }

  @Test("A field keeps what it is about over the versions, and those of older ones stay known")
  func fields() throws {
    let text = #""type": "text", "fields": ["identity_name"], "topic": "what to call you""#
    let catalogues = try Self.catalogues(["2.json": Self.document(2, Self.step(1, Self.voice), Self.step(2, text))])
    #expect(catalogues.topic(of: ["identity_name"]) == "what to call you")
    #expect(catalogues.topic(of: ["oath_recording"]) == "the oath")
    #expect(catalogues.topic(of: ["nowhere"]) == nil && catalogues.topic(of: []) == nil)
    #expect(catalogues.fields.prefix(2) == ["why_now", "identity_name"] && catalogues.fields.count == 35)
    let task = ExtractionTask([StatedAnswer(step: 1, fields: ["oath_recording"], text: "I swear", isSpoken: true)], catalogues)
    #expect(task.material == "Step 1 (the oath):\nI swear")
  }

  @Test(
    "What is wrong with a document is told with its file, the place in it and the reason",
    arguments: [
      ("{", "2.json: "), ("[]", "2.json: an object"), (#"{"steps": []}"#, "2.json: version: it is missing"),
      (#"{"version": 0, "steps": []}"#, "2.json: version: a whole number from 1 to"),
      (#"{"version": 2.5, "steps": []}"#, "2.json: version: a whole number from 1 to"),
      (#"{"version": 2}"#, "2.json: steps: an array"), (document(2), "2.json: steps: the catalogue has no steps"),
      (#"{"version": 2, "steps": [], "title": "x"}"#, "2.json: title: not known"),
      (document(1, step(1, voice)), "2.json: version: there is a version 1 already"),
      (document(2, "7"), "2.json: steps[0]: an object"),
      (document(2, step(2, voice)), "2.json: steps[0].step: step 1 is missing"),
      (document(2, step(1, voice), step(3, #""type": "explanation""#)), "2.json: steps[1].step: step 2 is missing"),
      (document(2, step(1, #""type": "song", "fields": ["a"]"#)), "2.json: steps[0].type: one of voice, text, "),
      (document(2, step(1, #""fields": ["a"]"#)), "2.json: steps[0].type: one of voice, text, "),
      (document(2, #"{"step": 1, "type": "explanation"}"#), "2.json: steps[0].phase: step 1 has no phase"),
      (document(2, step(1, #""type": "text""#)), "2.json: steps[0].fields: what the answer is kept as is missing"),
      (document(2, step(1, #""type": "text", "fields": "a""#)), "2.json: steps[0].fields: an array of texts"),
      (document(2, step(1, #""type": "text", "fields": ["a", 7]"#)), "2.json: steps[0].fields[1]: a text"),
      (document(2, step(1, #""type": "text", "fields": ["Ünï"]"#)), "2.json: steps[0].fields[0]: 1 to 64 characters"),
      (document(2, step(1, #""type": "text", "fields": ["a", "a"]"#)), "2.json: steps[0].fields[1]: a occurs twice"),
      (document(2, step(1, #""type": "text", "fields": ["core_struggle"]"#)), "2.json: steps[0].fields[0]: core_struggle is"),
      (document(2, step(1, voice), step(2, voice)), "2.json: steps[1].fields: why_now belongs to two steps"),
      (document(2, step(1, #""type": "explanation", "fields": ["a"]"#)), "2.json: steps[0].fields: explanation has no answer"),
      (document(2, step(1, #""type": "choice", "fields": ["a"]"#)), "2.json: steps[0].options: what can be chosen is missing"),
      (document(2, step(1, #""type": "text", "fields": ["a"], "options": ["b"]"#)), "2.json: steps[0].options: only a choice"),
      (document(2, step(1, voice + #", "minimum_second": 1"#)), "2.json: steps[0].minimum_second: not known"),
      (
        document(2, step(1, #""type": "voice", "fields": ["a"], "minimum_seconds": 3601"#)),
        "2.json: steps[0].minimum_seconds: a whole number from 0 to 3600"
      ),
    ])
  func faults(_ text: String, _ fault: String) {
    let error = #expect(throws: StepsFolder.Fault.self) { try Self.catalogues(["2.json": text]) }
    #expect(error?.description.hasPrefix(fault) == true, "\(error?.description ?? "nothing")")
  }

  @Test("As many steps as answers can have are taken, and one more is not; a document may have a mebibyte")
  func edges() throws {
    let steps = (1...100).map { Self.step($0, #""type": "explanation""#) }
    func document(_ count: Int) -> String { #"{"version": 2, "steps": [\#(steps.prefix(count).joined(separator: ", "))]}"# }
    #expect(try Self.catalogues(["2.json": document(99)]).newest.steps.count == 99)
    #expect(throws: StepsFolder.Fault(description: "2.json: steps: at most 99 steps")) {
      try Self.catalogues(["2.json": document(100)])
    }
    let text = document(1)
    let blanks = String(repeating: " ", count: (1 << 20) - text.utf8.count)
    #expect(try Self.catalogues(["2.json": text + blanks]).newest.version == 2)
    #expect(throws: StepsFolder.Fault(description: "2.json: more than 1048576 bytes")) {
      try Self.catalogues(["2.json": text + blanks + " "])
    }
    let two = Self.document(2, Self.step(1, Self.voice))
    #expect(throws: StepsFolder.Fault(description: "b.json: version: there is a version 2 already")) {
      try Self.catalogues(["a.json": two, "b.json": two])
    }
  }

  @Test("A folder that is not there is a finding of the setting, and so is a document with a fault")
  func findings() throws {
    let folder = try ScratchFolder()
    func findings(_ path: String) throws -> [ConfigurationFinding] {
      let settings = try Settings(
        service: "onboarding", keys: OnboardingAPI.OnboardingService.keys,
        environment: [
          "PARLEY_ONBOARDING_STEPS_DIRECTORY": path, "PARLEY_ONBOARDING_DATABASE_URL": "postgresql://parley_onboarding@/parley",
        ])
      return OnboardingAPI.OnboardingService.check(settings).filter { $0.key == OnboardingKeys.stepsDirectory.name }
    }
    #expect(try findings(folder.path).isEmpty)
    #expect(try findings(folder.path + "/none").map(\.severity) == [.error])
    try "{}".write(toFile: folder.path + "/2.json", atomically: true, encoding: .utf8)
    #expect(try findings(folder.path).map(\.message) == ["2.json: version: it is missing"])
  }

  @Test("Apps get the newest version, or the one that they ask for; answers to an older one stay what they are")
  func served() async throws {
    let folder = try ScratchFolder()
    try Self.document(2, Self.step(1, Self.voice), Self.step(2, #""type": "text", "fields": ["a_name"], "topic": "a name""#))
      .write(toFile: folder.path + "/steps-2.json", atomically: true, encoding: .utf8)
    try await OnboardingWorld.with(["STEPS_DIRECTORY": folder.path]) { world in
      let newest = try await world.client.listSteps()
      #expect(newest.version == 2 && newest.steps.map(\.dbFields) == [["why_now"], ["a_name"]])
      #expect(try await world.client.listSteps(.init(version: 1)).steps.count == 45)
      #expect(try await world.client.listSteps(.init(version: 2)) == newest)
      let none = await #expect(throws: RPCError.self) { try await world.client.listSteps(.init(version: 3)) }
      #expect(none?.code == .notFound)
      let ana = OnboardingWorld.options(try await world.signIn("ana"))
      // An app with the first version names its fields, one with the newest need not.
      let named = OnboardingAnswer.written("Ana", keptAs: ["identity_name"])
      _ = try await world.client.saveAnswer(.init(step: 3, answer: named), options: ana)
      _ = try await world.client.saveAnswer(
        .init(step: 2, answer: .init(value: .init(kind: .stringValue("Ben")))), options: ana)
      let kept = try await world.client.getProgress(options: ana).state?.responses
      #expect(kept?["3"]?.dbField == ["identity_name"] && kept?["2"]?.dbField == ["a_name"] && kept?["2"]?.type == "text")
    }
    withExtendedLifetime(folder) {}
  }
}
