import Foundation
import MessagesCore
import ParleyAPI
import WellKnown

extension GoogleProtobuf.Value {
  /// A text, as an answer holds it.
  static func written(_ text: String) -> GoogleProtobuf.Value { .init(kind: .stringValue(text)) }

  /// A recording inside an answer: a data URL of that media type.
  static func spoken(_ bytes: [UInt8], as type: String = "audio/m4a") -> GoogleProtobuf.Value {
    written("data:\(type);base64,\(Data(bytes).base64EncodedString())")
  }
}

extension OnboardingAnswer {
  /// What somebody wrote, and when; `fields` where an app names what it is kept as.
  static func written(_ text: String, at timestamp: String = "", keptAs fields: [String] = []) -> OnboardingAnswer {
    OnboardingAnswer(type: "text", value: .written(text), timestamp: timestamp, dbField: fields)
  }

  /// What somebody said, and when, with the recording inside.
  static func spoken(_ bytes: [UInt8], as type: String = "audio/m4a", at timestamp: String = "") -> OnboardingAnswer {
    OnboardingAnswer(type: "voice", value: .spoken(bytes, as: type), timestamp: timestamp)
  }
}
