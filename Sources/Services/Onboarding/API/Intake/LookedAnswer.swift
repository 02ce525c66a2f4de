internal import EventLoop
internal import OnboardingDomain
internal import ParleyAPI
internal import WellKnown

/// An answer with its recording looked into: once, since that reads every byte of it.
struct LookedAnswer: Sendable {
  let answer: ReceivedAnswer
  /// The recording that came in the answer, or why it is none; nil where the answer is something else.
  let recording: Result<SpokenRecording, SpokenRecording.Refused>?

  /// SHA-256 of the recording that came in the answer, or that it refers to; nil where it is something else.
  var digest: [UInt8]? {
    if case .recording(let digest) = answer.content { return digest }
    if case .success(let recording)? = recording { return recording.digest }
    return nil
  }

  init(_ answer: ReceivedAnswer) {
    self.answer = answer
    guard !answer.isPlaceOfRecording else {
      recording = .failure(SpokenRecording.Refused("audio_not_sent"))
      return
    }
    guard case .dataURL(let text) = answer.content else {
      recording = nil
      return
    }
    do throws(SpokenRecording.Refused) { recording = .success(try SpokenRecording(dataURL: text)) } catch {
      recording = .failure(error)
    }
  }

  /// How large a value is whose bytes are read beside the loop.
  private static let large = 32 << 10

  /// An answer as it came, looked into: on a thread of the pool where its value is large.
  ///
  /// - Throws: ``OnboardingRefusal`` where something of it is out of its bounds.
  static func looked(
    _ message: OnboardingAnswer, step: Int, _ steps: StepCatalogue, on pool: BlockingPool
  ) async throws -> LookedAnswer {
    guard message.isLarge(Self.large) else { return try looked(message, step: step, steps) }
    return try await pool.run { try looked(message, step: step, steps) }
  }

  private static func looked(
    _ message: OnboardingAnswer, step: Int, _ steps: StepCatalogue
  ) throws(OnboardingRefusal) -> LookedAnswer {
    let answer = ReceivedAnswer(message, step: step, steps)
    if let fault = answer.fault { throw .invalid(field: "answer.\(fault.field)", fault.reason) }
    return LookedAnswer(answer)
  }
}

extension OnboardingAnswer {
  /// Whether its value may have so many bytes: a text of so many, or anything that is made of parts.
  fileprivate func isLarge(_ bytes: Int) -> Bool {
    switch value?.kind {
    case .stringValue(let text): text.utf8.count >= bytes
    case .structValue, .listValue: true
    case nil, .nullValue, .numberValue, .boolValue: (selectedOption?.utf8.count ?? 0) >= bytes
    }
  }
}
