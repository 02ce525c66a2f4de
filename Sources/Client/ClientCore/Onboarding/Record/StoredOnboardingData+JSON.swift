public import JSON

/// The record as JSON: written in camelCase with steps as `"12"`, read in camelCase or snake_case with steps as `"12"` or `"step_12"`.
extension StoredOnboardingData {
  /// The largest record that is read, in bytes: fifteen recordings of 10 MB in base64 and what is around them.
  static let maximumBytes = 256 << 20

  /// Reads a record.
  ///
  /// - Parameter json: The JSON text.
  /// - Throws: ``OnboardingError`` with ``OnboardingError/Code/unreadable``.
  public init(json: [UInt8]) throws(OnboardingError) {
    let read: JSONValue
    do throws(JSONError) {
      read = try JSONParser.parse(json, options: .init(maximumByteCount: Self.maximumBytes))
    } catch {
      throw OnboardingError(.unreadable, "the record is no JSON: \(error)")
    }
    try self.init(read)
  }

  /// Reads a record out of JSON that was read before.
  ///
  /// - Throws: ``OnboardingError`` with ``OnboardingError/Code/unreadable`` when there are no responses or they have no steps.
  public init(_ json: JSONValue) throws(OnboardingError) {
    guard let record = json.object.map(EitherCase.init), let found = record["responses"]?.object else {
      throw OnboardingError(.unreadable, "the record has no responses")
    }
    self.init()
    responses = try Self.responses(found)
    currentStep = record.integer("currentStep") ?? responses.keys.max() ?? 1
    startedAt = record.text("startedAt") ?? ""
    lastSavedAt = record.text("lastSavedAt") ?? ""
    isCompleted = record["isCompleted"]?.bool
    completedAt = record.text("completedAt")
    userName = record.text("userName")
    callTime = record.text("callTime")
    userTimezone = record.text("userTimezone")
    brotherName = record.text("brotherName")
    wakeUpTime = record.text("wakeUpTime")
    userPath = record.text("userPath")
  }

  /// The record as JSON, always in the same order: the same record gives the same bytes.
  public var json: JSONValue {
    var object: JSONObject = [
      "currentStep": .number(JSONNumber(currentStep)),
      "responses": .object(JSONObject(responses.sorted { $0.key < $1.key }.map { ("\($0.key)", $0.value.json) })),
      "totalResponses": .number(JSONNumber(totalResponses)), "progressPercentage": .number(JSONNumber(progressPercentage)),
      "startedAt": .string(startedAt), "lastSavedAt": .string(lastSavedAt),
    ]
    object["isCompleted"] = isCompleted.map(JSONValue.bool)
    let texts = [
      ("completedAt", completedAt), ("userName", userName), ("callTime", callTime), ("userTimezone", userTimezone),
      ("brotherName", brotherName), ("wakeUpTime", wakeUpTime), ("userPath", userPath),
    ]
    for (name, text) in texts { object[name] = text.map(JSONValue.string) }
    return .object(object)
  }

  /// The step of a key, `12` or `step_12`; nil for any other.
  static func step(of key: String) -> Int? {
    let digits = key.hasPrefix("step_") ? key.dropFirst(5) : key[...]
    guard (1...2).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let step = Int(digits),
      step > 0
    else { return nil }
    return step
  }

  /// Of two answers to one step, the later one; those that say nothing of when count as earlier.
  private static func responses(_ found: JSONObject) throws(OnboardingError) -> [Int: OnboardingResponseData] {
    var responses: [Int: OnboardingResponseData] = [:]
    for member in found {
      guard let step = step(of: member.name) else {
        throw OnboardingError(.unreadable, "'\(member.name.prefix(40))' is no step: 1 to 99, or step_1 to step_99")
      }
      guard let response = OnboardingResponseData(member.value) else {
        throw OnboardingError(.unreadable, step: step, "the answer to step \(step) is no object with a type")
      }
      if let present = responses[step], present.timestamp > response.timestamp { continue }
      responses[step] = response
    }
    return responses
  }
}

extension OnboardingResponseData {
  init?(_ json: JSONValue) {
    guard let record = json.object.map(EitherCase.init), let type = record.text("type") else { return nil }
    self.type = type
    value = record["value"]
    timestamp = record.text("timestamp") ?? ""
    voiceUri = record.text("voiceUri")
    duration = record["duration"]?.number?.double
    audioFileSize = record.integer("audioFileSize")
    audioFormat = record.text("audioFormat")
    dbField = record["dbField"]?.array?.compactMap(\.string) ?? record.text("dbField").map { [$0] } ?? []
    selectedOption = record.text("selectedOption")
    sliders = record["sliders"]?.array?.compactMap { $0.number?.double } ?? []
  }

  var json: JSONValue {
    var object: JSONObject = ["type": .string(type)]
    object["value"] = value
    object["timestamp"] = .string(timestamp)
    object["voiceUri"] = voiceUri.map(JSONValue.string)
    object["duration"] = duration.flatMap { JSONNumber($0) }.map(JSONValue.number)
    object["audioFileSize"] = audioFileSize.map { .number(JSONNumber($0)) }
    object["audioFormat"] = audioFormat.map(JSONValue.string)
    if !dbField.isEmpty { object["dbField"] = .array(dbField.map(JSONValue.string)) }
    object["selectedOption"] = selectedOption.map(JSONValue.string)
    if !sliders.isEmpty { object["sliders"] = .array(sliders.compactMap { JSONNumber($0).map(JSONValue.number) }) }
    return .object(object)
  }
}

/// An object whose members are named `camelCase` or `snake_case`; the first counts where both are there, `null` as absence.
private struct EitherCase {
  let object: JSONObject

  init(_ object: JSONObject) { self.object = object }

  subscript(name: String) -> JSONValue? {
    for name in [name, Self.snake(name)] { if let value = object[name], !value.isNull { return value } }
    return nil
  }

  func text(_ name: String) -> String? { self[name]?.string }

  func integer(_ name: String) -> Int? {
    guard let number = self[name]?.number else { return nil }
    return number.int64.flatMap { Int(exactly: $0) } ?? number.double.flatMap { Int(exactly: $0.rounded()) }
  }

  private static func snake(_ name: String) -> String {
    name.reduce(into: "") { $0 += $1.isUppercase ? "_\($1.lowercased())" : String($1) }
  }
}
