import Foundation
import Glibc
import JSON
import RPC
import RPCInProcess
import TestSupport
import Testing

@testable import ClientCore

@Suite("Answers on the device")
struct OnboardingStoreTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  /// As after a start of the app: nobody is signed in, and no server is there.
  private func app() -> OnboardingDataPush {
    OnboardingDataPush(
      channel: InProcessChannel(services: []), store: OnboardingStore(FileKeyValueStore(folder: folder.path)),
      options: .init(clock: SteppedClock()))
  }

  private func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }.sorted()
  }

  private func onboardingCode(_ body: () async throws -> Void) async -> OnboardingError.Code? {
    do { try await body() } catch { return (error as? OnboardingError)?.code }
    return nil
  }

  @Test("O-03, O-04: answers are kept after every step, without an account, and are there after a restart")
  func everyStep() async throws {
    var data = StoredOnboardingData()
    for step in 1...7 {
      data.answer(step, step == 5 ? OnboardingWorld.voice(5) : .text("answer \(step)"))
      try await app().saveProgress(data)
      var found = try #require(try await app().getStoredData())
      #expect(found.lastSavedAt == "2027-01-15T08:00:00.000Z")
      found.lastSavedAt = data.lastSavedAt
      #expect(found == data && found.currentStep == step)
    }
  }

  @Test("O-07: what goes on is kept as onboarding_v3_progress, what is complete as onboarding_v3_completed, for the owner alone")
  func keys() async throws {
    let data = OnboardingWorld.record()
    try await app().saveProgress(data)
    #expect(try names() == ["onboarding_v3_progress.json"])
    try await app().markCompleted(data)
    #expect(try names() == ["onboarding_v3_completed.json"])
    var status = stat()
    #expect(stat(folder.path + "/onboarding_v3_completed.json", &status) == 0 && status.st_mode & 0o777 == 0o600)
    try await app().clearStoredData()
    #expect(try names() == [])
  }

  @Test("O-08: complete answers win over those that go on, and the flag says which they are, wherever they are kept")
  func priority() async throws {
    let entries = MemoryKeyValueStore()
    let store = OnboardingStore(entries)
    func put(_ key: String, step: Int, isCompleted: Bool?) {
      var data = StoredOnboardingData()
      data.answer(step, .text("x"))
      data.isCompleted = isCompleted
      entries.save(data.json.encoded(), as: key)
    }
    put(OnboardingStore.progressKey, step: 7, isCompleted: nil)
    #expect(try await store.load()?.currentStep == 7)
    put(OnboardingStore.completedKey, step: 9, isCompleted: true)
    #expect(try await store.load()?.currentStep == 9)
    // An entry under the key of complete ones that says it is not: what goes on counts.
    put(OnboardingStore.completedKey, step: 9, isCompleted: false)
    #expect(try await store.load()?.currentStep == 7)
    put(OnboardingStore.progressKey, step: 8, isCompleted: true)
    #expect(try await store.load()?.currentStep == 8)
    entries.remove(OnboardingStore.progressKey)
    #expect(try await store.load()?.currentStep == 9)
  }

  @Test("O-08: what is kept as complete is complete unless it says that it is not", arguments: ["", #""isCompleted": null, "#])
  func completeByPlace(_ flag: String) async throws {
    let entries = MemoryKeyValueStore()
    let store = OnboardingStore(entries)
    entries.save(Array("{\(flag)\"responses\": {\"3\": {\"type\": \"text\"}}}".utf8), as: OnboardingStore.completedKey)
    entries.save(OnboardingWorld.record().json.encoded(), as: OnboardingStore.progressKey)
    let found = try #require(try await store.load())
    #expect(found.isCompleted == true && found.responses.count == 1)
  }

  @Test(
    "O-08: complete answers are there whatever became of the record of what went on, and that goes away with them",
    arguments: ["{", #"{"responses": {"100": {"type": "text"}}}"#])
  func damagedProgress(_ text: String) async throws {
    let entries = MemoryKeyValueStore()
    let store = OnboardingStore(entries)
    try await store.saveCompleted(OnboardingWorld.record().completed())
    entries.save(Array(text.utf8), as: OnboardingStore.progressKey)
    #expect(try await store.load()?.responses.count == 3)
    let snapshot = try #require(try await store.snapshot())
    try await store.clear(snapshot)
    #expect(entries.load(OnboardingStore.completedKey) == nil && entries.load(OnboardingStore.progressKey) == nil)
    // Where it is what counts, nobody takes it for nothing.
    entries.save(Array(text.utf8), as: OnboardingStore.progressKey)
    #expect(await onboardingCode { _ = try await store.load() } == .unreadable)
  }

  @Test("O-12: answers that were forgotten are in no file any more, whatever crash came before")
  func nothingLeft() async throws {
    let entries = FileKeyValueStore(folder: folder.path)
    func crash() {
      for key in [OnboardingStore.progressKey, OnboardingStore.completedKey] {
        _ = FileManager.default.createFile(atPath: "\(folder.path)/\(key).json.new", contents: Data("Ana".utf8))
      }
    }
    func left() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasSuffix(".lock") }
    }
    crash()
    try await app().clearStoredData()
    #expect(try left() == [])
    try await app().markCompleted(OnboardingWorld.record())
    crash()
    let store = OnboardingStore(entries)
    let snapshot = try #require(try await store.snapshot())
    try await store.clear(snapshot)
    #expect(try left() == [])
  }

  @Test("O-09: answers wait as soon as there are any, complete or not, until they are cleared")
  func pending() async throws {
    #expect(try await !app().hasPendingData())
    try await app().saveProgress(OnboardingWorld.record())
    #expect(try await app().hasPendingData())
    try await app().markCompleted(OnboardingWorld.record())
    #expect(try await app().hasPendingData())
    try await app().clearStoredData()
    #expect(try await !app().hasPendingData())
    #expect(try await app().getStoredData() == nil)
  }

  @Test("O-10: answers are marked complete before anybody has paid or signed in, with flag, time, last step and 100 %")
  func markCompleted() async throws {
    try await app().markCompleted(OnboardingWorld.record())
    let found = try #require(try await app().getStoredData())
    #expect(found.isCompleted == true && found.completedAt == "2027-01-15T08:00:00.000Z")
    #expect(found.currentStep == 45 && found.progressPercentage == 100 && found.responses.count == 3)
  }

  @Test("O-15: the summary is a line with answers, step, percentage and standing")
  func summary() async throws {
    #expect(await app().getStoredDataSummary() == "Onboarding: no stored data")
    var data = StoredOnboardingData()
    data.answer(5, .text("x"))
    try await app().saveProgress(data)
    #expect(await app().getStoredDataSummary() == "Onboarding: 1 responses, Step 5, 11% (IN PROGRESS)")
    try await app().markCompleted(app().createTestData())
    #expect(await app().getStoredDataSummary() == "Onboarding: 2 responses, Step 45, 100% (COMPLETED)")
  }

  @Test("O-15: test data is complete, with one answer written and one spoken that is long enough to be pushed")
  func testData() throws {
    let data = app().createTestData()
    #expect(data.isCompleted == true && data.completedAt != nil && data.responses.count == 2)
    try data.checkValues()
    let spoken = try #require(data.responses.values.first { $0.type == "voice" })
    let url = try #require(DataURL(spoken.value?.string ?? ""))
    #expect(url.mediaType == "audio/wav" && WAVTone.duration(of: url.bytes) == 8 && spoken.audioFileSize == url.bytes.count)
  }

  @Test("O-19: a record with the path of a file is refused, and what was stored stays")
  func path() async throws {
    let data = OnboardingWorld.record()
    try await app().saveProgress(data)
    var bad = data
    bad.answer(10, OnboardingResponseData(type: "voice", value: "file:///tmp/a.m4a"))
    let changed = bad
    let code = await onboardingCode { try await app().saveProgress(changed) }
    #expect(code == .filePath)
    #expect(await onboardingCode { try await app().markCompleted(changed) } == .filePath)
    #expect(try await app().getStoredData()?.responses.count == data.responses.count)
  }

  @Test("O-41: a record with a recording beyond 10 MiB is refused, with its step, and what was stored stays")
  func tooLarge() async throws {
    func record(_ bytes: Int, _ padding: String) -> StoredOnboardingData {
      var data = OnboardingWorld.record()
      let text = String(repeating: "A", count: (bytes + 2) / 3 * 4 - padding.utf8.count) + padding
      data.answer(7, OnboardingResponseData(type: "voice", value: .string("data:audio/m4a;base64,\(text)")))
      return data
    }
    // 10 MiB is a multiple of three and one more.
    try record(10 << 20, "==").checkValues()
    try await app().saveProgress(OnboardingWorld.record())
    let more = record((10 << 20) + 1, "=")
    await #expect(throws: OnboardingError.tooLarge(step: 7)) { try await app().saveProgress(more) }
    await #expect(throws: OnboardingError.tooLarge(step: 7)) { try await app().markCompleted(more) }
    #expect(OnboardingError.tooLarge(step: 7).description.contains("step 7"))
    #expect(try await app().getStoredData()?.responses.count == 3)
    // What an earlier version of the app has stored is not sent to be thrown away there.
    try FileKeyValueStore(folder: folder.path).save(more.completed().json.encoded(), as: OnboardingStore.completedKey)
    #expect(try await app().states().map(short) == ["idle", "checking", "failed tooLarge"])
    #expect(try names().contains("onboarding_v3_completed.json"))
  }

  @Test("What cannot be read is not taken for nothing: whoever asks is told, and nothing is overwritten by it")
  func unreadable() async throws {
    let entries = FileKeyValueStore(folder: folder.path)
    try entries.save(Array("{".utf8), as: OnboardingStore.completedKey)
    #expect(await onboardingCode { _ = try await app().getStoredData() } == .unreadable)
    #expect(await app().getStoredDataSummary() == "Onboarding: stored data cannot be read")
    let states = try await app().states()
    #expect(states.map(short) == ["idle", "checking", "failed invalidData"])
    #expect(try entries.load(OnboardingStore.completedKey) == Array("{".utf8))
  }
}
