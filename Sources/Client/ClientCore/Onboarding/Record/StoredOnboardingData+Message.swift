import JSON
public import ParleyAPI
import WellKnown

extension StoredOnboardingData {
  /// The record as it is sent.
  public var message: OnboardingState {
    var state = OnboardingState()
    state.currentStep = Int32(clamping: currentStep)
    state.responses = Dictionary(uniqueKeysWithValues: responses.map { ("\($0.key)", $0.value.message) })
    state.totalResponses = Int32(clamping: totalResponses)
    state.progressPercentage = Int32(clamping: progressPercentage)
    state.startedAt = startedAt
    state.lastSavedAt = lastSavedAt
    state.isCompleted = isCompleted
    state.completedAt = completedAt
    state.userName = userName
    state.callTime = callTime
    state.userTimezone = userTimezone
    state.brotherName = brotherName
    state.wakeUpTime = wakeUpTime
    state.userPath = userPath
    return state
  }
}

extension OnboardingResponseData {
  /// The answer as it is sent.
  var message: OnboardingAnswer {
    OnboardingAnswer(
      type: type, value: value.flatMap(Self.message), timestamp: timestamp, voiceUri: voiceUri, duration: duration,
      audioFileSize: audioFileSize.map(Int64.init), audioFormat: audioFormat, dbField: dbField, selectedOption: selectedOption,
      sliders: sliders)
  }

  private static func message(_ value: JSONValue) -> GoogleProtobuf.Value? {
    switch value {
    case .null: .init(kind: .nullValue(.nullValue))
    case .bool(let flag): .init(kind: .boolValue(flag))
    case .number(let number): number.double.map { .init(kind: .numberValue($0)) }
    case .string(let text): .init(kind: .stringValue(text))
    case .array(let values): .init(kind: .listValue(.init(values: values.compactMap(message))))
    case .object(let object):
      .init(
        kind: .structValue(
          .init(
            fields: Dictionary(
              object.compactMap { member in message(member.value).map { (member.name, $0) } },
              uniquingKeysWith: { _, last in last }))))
    }
  }
}
