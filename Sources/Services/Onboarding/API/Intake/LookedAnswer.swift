internal import OnboardingDomain

/// An answer with its recording looked into: once, since that reads every byte of it.
struct LookedAnswer: Sendable {
  let answer: ReceivedAnswer
  /// The recording that came in the answer, or why it is none; nil where the answer is something else.
  let recording: Result<SpokenRecording, SpokenRecording.Refused>?

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
}
