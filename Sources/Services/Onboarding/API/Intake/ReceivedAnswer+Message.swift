internal import JSON
internal import MessagesCore
internal import OnboardingDomain
internal import ParleyAPI
internal import WellKnown

extension ReceivedAnswer {
  /// An answer as it came in a message.
  ///
  /// - Parameters:
  ///   - message: The answer.
  ///   - step: Its step.
  ///   - steps: What knows the fields of answers that name none.
  init(_ message: OnboardingAnswer, step: Int, _ steps: StepCatalogue) {
    var content = AnswerContent(message.value)
    if content == .none {
      if let option = message.selectedOption, !option.isEmpty {
        content = .text(option)
      } else if !message.sliders.isEmpty {
        content = .text(message.sliders.map { JSONValue(number: $0).description }.joined(separator: ","))
      }
    }
    let fields = message.dbField.filter { !$0.isEmpty }
    self.init(
      step: step, type: message.type.isEmpty ? steps[step]?.type.rawValue ?? "text" : message.type, content: content,
      fields: fields.isEmpty ? steps[step]?.fields ?? [] : fields, answeredAt: message.timestamp.microsecondsSince1970,
      duration: message.duration, size: message.audioFileSize, format: message.audioFormat ?? "",
      voiceURI: message.voiceUri ?? "")
  }
}

extension AnswerContent {
  /// What an app sent as something else than text.
  init(value: JSONValue) {
    switch value {
    case .null: self = .none
    case .string(let text): self.init(text: text)
    case .bool(let isTrue): self = .text(isTrue ? "true" : "false")
    case .number: self = .text(value.description)
    case .array(let values):
      let plain = values.compactMap(Self.plain)
      self = .text(plain.count == values.count ? plain.joined(separator: ",") : value.description)
    case .object(let object):
      if let start = object["start"]?.string {
        self = .text(object["end"]?.string.map { "\(start)-\($0)" } ?? start)
      } else if let data = object["data"]?.string ?? object["uri"]?.string, case .dataURL = AnswerContent(text: data) {
        self = .dataURL(data)
      } else {
        self = .text(value.description)
      }
    }
  }

  private static func plain(_ value: JSONValue) -> String? {
    switch value {
    case .string(let text): text
    case .number: value.description
    default: nil
    }
  }

  /// What a value of JSON is as an answer.
  init(_ value: GoogleProtobuf.Value?) {
    switch value?.kind {
    case .stringValue(let text): self.init(text: text)
    case let other: self.init(value: JSONValue(other))
    }
  }
}

extension JSONValue {
  /// A number; null for what JSON cannot spell.
  init(number: Double) { self = JSONNumber(number).map { .number($0) } ?? .null }

  init(_ kind: GoogleProtobuf.Value.Kind?) {
    switch kind {
    case nil, .nullValue: self = .null
    case .numberValue(let number): self.init(number: number)
    case .stringValue(let text): self = .string(text)
    case .boolValue(let isTrue): self = .bool(isTrue)
    case .structValue(let object):
      var members: JSONObject = [:]
      for (name, value) in object.fields.sorted(by: { $0.key < $1.key }) { members[name] = JSONValue(value.kind) }
      self = .object(members)
    case .listValue(let list): self = .array(list.values.map { JSONValue($0.kind) })
    }
  }
}

extension String {
  /// A time of ISO 8601 in microseconds since 1970; nil for anything else.
  var microsecondsSince1970: Int64? {
    InternetTime.parse(self).map { $0.seconds * 1_000_000 + Int64($0.nanos) / 1_000 }
  }
}
