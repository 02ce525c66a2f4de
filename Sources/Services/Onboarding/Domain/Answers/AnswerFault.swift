/// What is out of its bounds in an answer, so that it is not kept.
public struct AnswerFault: Error, Sendable, Hashable {
  /// The part of the answer, as messages name it: `db_field`.
  public let field: String
  /// Its bounds, in a sentence that may be sent.
  public let reason: String

  init(_ field: String, _ reason: String) {
    self.field = field
    self.reason = reason
  }
}

extension ReceivedAnswer {
  /// What is out of its bounds (``SubmissionLimits``); nil where nothing is. Recordings are looked into elsewhere.
  public var fault: AnswerFault? {
    typealias Limits = SubmissionLimits
    switch content {
    case .text(let text):
      guard text.utf8.count <= Limits.text else { return AnswerFault("value", "a text has at most \(Limits.text) bytes") }
      guard text.isStorable else { return AnswerFault("value", "a text has no U+0000") }
    case .dataURL(let text):
      // What is no recording is kept as the text that it is.
      guard text.isStorable else { return AnswerFault("value", "a text has no U+0000") }
    case .none, .recording: break
    }
    guard fields.count <= Limits.fields else { return AnswerFault("db_field", "an answer has at most \(Limits.fields) fields") }
    guard fields.allSatisfy({ $0.utf8.count <= Limits.fieldName && $0.isStorable }) else {
      return AnswerFault("db_field", "the name of a field has at most \(Limits.fieldName) bytes, and no U+0000")
    }
    let texts = [("type", type, Limits.type), ("audio_format", format, Limits.format), ("voice_uri", voiceURI, Limits.voiceURI)]
    for (field, text, limit) in texts where text.utf8.count > limit || !text.isStorable {
      return AnswerFault(field, "at most \(limit) bytes, and no U+0000")
    }
    return nil
  }
}
