internal import JOSE
internal import JSON
internal import OnboardingDomain
internal import ParleyAPI

/// A record of answers in one form, whatever the app that sent it.
struct ReceivedRecord: Sendable {
  /// The answers, in the order of the steps, each step once.
  let answers: [LookedAnswer]
  /// What the record itself says of the person.
  let name: String?
  let callTime: String?
  let zone: String?

  /// Reads a record, recordings in it too: large ones belong off the loop.
  ///
  /// - Parameters:
  ///   - state: What came.
  ///   - field: What the record is called in refusals.
  ///   - steps: What knows the fields of answers that name none.
  init(_ state: OnboardingState?, field: String = "state", _ steps: StepCatalogue) throws(OnboardingRefusal) {
    guard let state else { throw .invalid(field: field, "the record is missing") }
    guard state.responses.count <= SubmissionLimits.answers else {
      throw .invalid(field: "\(field).responses", "at most \(SubmissionLimits.answers) answers")
    }
    var answers: [Int: ReceivedAnswer] = [:]
    for (key, message) in state.responses {
      guard let step = StepKey.step(key) else {
        throw .invalid(field: "\(field).responses", "keys are N or step_N, of steps from 1 to 99")
      }
      let answer = ReceivedAnswer(message, step: step, steps)
      if let fault = answer.fault { throw .invalid(field: "\(field).responses[\(step)].\(fault.field)", fault.reason) }
      guard answers.updateValue(answer, forKey: step) == nil else {
        throw .invalid(field: "\(field).responses", "step \(step) has two answers")
      }
    }
    guard state.userName?.isStorable != false else { throw .invalid(field: "\(field).user_name", "a name has no U+0000") }
    self.answers = answers.values.sorted { $0.step < $1.step }.map { LookedAnswer($0) }
    name = state.userName
    callTime = state.callTime
    zone = state.userTimezone
  }

  /// SHA-256 of each recording that came in it.
  var recordings: Set<[UInt8]> {
    Set(
      answers.compactMap { looked -> [UInt8]? in
        guard case .success(let recording)? = looked.recording else { return nil }
        return recording.digest
      })
  }

  /// SHA-256 of what is answered: the same answers have the same, whenever they are sent and by which app.
  var contentHash: [UInt8] {
    let hash = RunningSHA256()
    func add(_ text: String) {
      hash.update(Array("\(text.utf8.count):".utf8))
      hash.update(Array(text.utf8))
    }
    for text in [name, callTime, zone] { add(text ?? "") }
    for looked in answers {
      let answer = looked.answer
      add("\(answer.step)")
      add(answer.type)
      for field in answer.fields { add(field) }
      add(answer.answeredAt.map { "\($0)" } ?? "")
      switch answer.content {
      case .none: add("-")
      case .text(let text): add("t" + text)
      case .dataURL(let text):
        // A recording is what it says, whether it came in the message or was uploaded before.
        if case .success(let recording)? = looked.recording {
          add("r" + AnswerContent.reference(recording.digest))
        } else {
          add("d" + text)
        }
      case .recording(let digest): add("r" + AnswerContent.reference(digest))
      }
    }
    return hash.finish()
  }
}
