import ClientCore
import Foundation
import JSON
import ParleyAPI
import Testing
import WellKnown

@Suite("The record of somebody who is being set up")
struct StoredOnboardingDataTests {
  private func read(_ text: String) throws -> StoredOnboardingData { try StoredOnboardingData(json: Array(text.utf8)) }

  private func code(_ body: () throws -> Void) -> OnboardingError.Code? {
    do { try body() } catch { return (error as? OnboardingError)?.code }
    return nil
  }

  @Test("O-05: the record is written with the names of the data model and read back as it was")
  func record() throws {
    var data = OnboardingWorld.record().completed(at: Date(timeIntervalSince1970: 1_800_000_100))
    (data.userName, data.callTime, data.brotherName, data.wakeUpTime, data.userPath) = ("Ana", "20:30", "Bo", "06:00", "HUNGRY")
    let json = data.json
    #expect(
      Set(json.object?.map(\.name) ?? []) == [
        "currentStep", "responses", "totalResponses", "progressPercentage", "startedAt", "lastSavedAt", "isCompleted",
        "completedAt", "userName", "callTime", "userTimezone", "brotherName", "wakeUpTime", "userPath",
      ])
    #expect(json["completedAt"]?.string == "2027-01-15T08:01:40.000Z" && json["totalResponses"]?.int64 == 3)
    #expect(try StoredOnboardingData(json: json.encoded()) == data)
    #expect(data.json.encoded() == json.encoded())
  }

  @Test("O-06: an answer keeps recording, duration, size, format and whatever else an app knows of it")
  func answer() throws {
    var data = StoredOnboardingData()
    var spoken = OnboardingWorld.voice(5)
    spoken.voiceUri = "file:///var/mobile/a.m4a"
    (spoken.dbField, spoken.selectedOption, spoken.sliders) = (["biggest_lie"], "x", [7, 9.5])
    data.answer(5, spoken)
    let json = try #require(data.json["responses"]?["5"])
    #expect(
      json.object?.map(\.name) == [
        "type", "value", "timestamp", "voiceUri", "duration", "audioFileSize", "audioFormat", "dbField", "selectedOption",
        "sliders",
      ])
    #expect(try StoredOnboardingData(json: data.json.encoded()).responses[5] == spoken)
    let message = try #require(data.message.responses["5"])
    #expect(message.type == "voice" && message.duration == 8 && message.audioFileSize == 3_000 && message.audioFormat == "m4a")
    #expect(message.voiceUri == spoken.voiceUri && message.dbField == ["biggest_lie"] && message.sliders == [7, 9.5])
    #expect(message.value?.kind == .stringValue(spoken.value?.string ?? ""))
  }

  @Test("O-52: steps as \"1\" and step_1, camelCase and snake_case, and values of every kind are read alike")
  func styles() throws {
    let camel = try read(
      """
      {"currentStep": 45, "isCompleted": true, "startedAt": "a", "lastSavedAt": "b", "completedAt": "c", "userTimezone": "UTC",
       "responses": {"3": {"type": "text", "value": "Ana", "timestamp": "t", "dbField": ["identity_name"]},
        "11": {"type": "dual_sliders", "value": "7,9", "timestamp": "t"},
        "37": {"type": "time_window_picker", "value": {"start": "20:30", "end": "21:00"}, "timestamp": "t"},
        "5": {"type": "voice", "value": null, "timestamp": "t", "audioFileSize": 7, "audioFormat": "m4a", "voiceUri": "u"}}}
      """)
    let snake = try read(
      """
      {"current_step": 45, "is_completed": true, "started_at": "a", "last_saved_at": "b", "completed_at": "c", "user_timezone": "UTC",
       "responses": {"step_3": {"type": "text", "value": "Ana", "timestamp": "t", "db_field": ["identity_name"]},
        "step_11": {"type": "dual_sliders", "value": "7,9", "timestamp": "t"},
        "step_37": {"type": "time_window_picker", "value": {"start": "20:30", "end": "21:00"}, "timestamp": "t"},
        "step_5": {"type": "voice", "timestamp": "t", "audio_file_size": 7, "audio_format": "m4a", "voice_uri": "u"}}}
      """)
    #expect(camel == snake && camel.responses.count == 4)
    let message = camel.message
    #expect(Set(message.responses.keys) == ["3", "5", "11", "37"])
    guard case .structValue(let window)? = message.responses["37"]?.value?.kind else {
      Issue.record("no object")
      return
    }
    #expect(window.fields["start"]?.kind == .stringValue("20:30"))
    #expect(message.responses["5"]?.value == nil)
  }

  @Test("O-52: of two answers to one step in both styles the later one counts")
  func bothStyles() throws {
    let data = try read(
      """
      {"responses": {"step_3": {"type": "text", "value": "new", "timestamp": "2026-01-02T00:00:00Z"},
        "3": {"type": "text", "value": "old", "timestamp": "2026-01-01T00:00:00Z"}}}
      """)
    #expect(data.responses[3]?.value?.string == "new" && data.totalResponses == 1 && data.currentStep == 3)
  }

  @Test(
    "What is no record is refused, not taken for an empty one",
    arguments: [
      "", "{", "[]", "{}", #"{"responses": []}"#, #"{"responses": {"x": {"type": "text"}}}"#,
      #"{"responses": {"0": {"type": "text"}}}"#, #"{"responses": {"100": {"type": "text"}}}"#, #"{"responses": {"1": "Ana"}}"#,
      #"{"responses": {"1": {}}}"#,
    ])
  func unreadable(_ text: String) {
    #expect(code { _ = try read(text) } == .unreadable)
  }

  @Test(
    "O-16: the percentage is the step's share of 45, rounded",
    arguments: [(0, 0), (1, 2), (5, 11), (22, 49), (23, 51), (44, 98), (45, 100), (60, 100), (-1, 0)])
  func percentage(_ step: Int, _ percent: Int) {
    var data = StoredOnboardingData()
    data.currentStep = step
    #expect(data.progressPercentage == percent && data.message.progressPercentage == Int32(percent))
  }

  @Test("O-16: a step that is answered again counts once, whatever number was stored")
  func distinct() throws {
    var data = StoredOnboardingData()
    for _ in 0..<3 { data.answer(3, .text("Ana")) }
    data.answer(6, .choice("too tired"))
    #expect(data.totalResponses == 2 && data.message.totalResponses == 2)
    #expect(data.currentStep == 6)
    data.answer(3, .text("Bo"))
    #expect(data.currentStep == 6 && data.responses[3]?.value?.string == "Bo")
    let read = try read(
      #"{"totalResponses": 9, "progressPercentage": 20, "currentStep": 5, "responses": {"5": {"type": "text"}}}"#)
    #expect(read.totalResponses == 1 && read.progressPercentage == 11)
  }

  @Test("O-16: a completed record is at step 45 and 100 %, and stays completed when it was")
  func completed() {
    let first = StoredOnboardingData().completed(at: Date(timeIntervalSince1970: 0))
    #expect(first.currentStep == 45 && first.progressPercentage == 100 && first.isCompleted == true)
    #expect(first.completed().completedAt == first.completedAt)
  }

  @Test(
    "O-19: the path of a file is refused as the value of a spoken answer",
    arguments: [
      "file:///var/mobile/Containers/Data/Application/1/Documents/rec.m4a", "FILE:/tmp/x.m4a", "/var/mobile/rec.m4a",
      "/var/mobile/Application Support/rec", "~/rec.m4a", "../rec.wav", "./rec", "rec.m4a", "Recordings/rec.M4A", "content://a/1",
      "ph://asset", "file:///a b.m4a",
    ])
  func paths(_ value: String) {
    var data = StoredOnboardingData()
    data.answer(5, OnboardingResponseData(type: "voice", value: .string(value)))
    #expect(code { try data.checkValues() } == .filePath)
    data.responses[5]?.value = .object(["uri": .array([.string(value)])])
    #expect(code { try data.checkValues() } == .filePath)
  }

  @Test(
    "O-19: recordings, references, URLs and what people write are no paths of files",
    arguments: [
      ("voice", "data:audio/m4a;base64,AAAA"), ("voice", "recording:0f"), ("voice", "https://store.example/a.m4a"),
      ("voice", "I said it into a.m4a"), ("text", "/"), ("text", "/shrug and go on"), ("text", "and/or"), ("text", "~/"),
      ("text", "ph: 7"), ("text", "ph:7"), ("text", "content:unknown"), ("choice", "file:mine"), ("text", "track.mp3"),
      ("choice", "../"),
    ])
  func noPaths(_ type: String, _ value: String) {
    var data = StoredOnboardingData()
    data.answer(5, OnboardingResponseData(type: type, value: .string(value)))
    #expect(code { try data.checkValues() } == nil)
  }

  @Test("O-19: elsewhere than in spoken answers a path is refused when it names a recording")
  func pathsInText() {
    for value in ["file:///x", "content://a/1", "ph://asset", "assets-library://a", "/var/mobile/rec.m4a", "~/rec.wav"] {
      var data = StoredOnboardingData()
      data.answer(9, .text(value))
      #expect(code { try data.checkValues() } == .filePath)
    }
  }
}
