public import ParleyAPI

/// How far a push has come, as a screen shows it.
public enum PushState: Sendable {
  /// Nothing has happened yet.
  case idle
  /// It is looked for answers that wait, and whether the service answers.
  case checking
  /// The answers are on their way: so many of the recordings that travel by themselves have arrived.
  case uploading(done: Int, total: Int)
  /// All answers are durable and gone from this device; the service works on them.
  case analyzing(Submission)
  /// All is done.
  case complete(CompleteResponse)
  /// It did not succeed. Pushing again begins with the check; nothing is lost.
  case failed(PushFailure)

  /// How long the bar is, 0 to 100: 40 while answers are on their way, 80 while the service works on them. Nil for a failure, which
  /// has none.
  public var percent: Int? {
    switch self {
    case .idle, .checking: 0
    case .uploading: 40
    case .analyzing: 80
    case .complete: 100
    case .failed: nil
    }
  }

  /// A line for the person. Apps in other languages say it by the case.
  public var text: String {
    switch self {
    case .idle: "Almost there."
    case .checking: "Checking the connection."
    case .uploading(_, 0): "Uploading your responses."
    case .uploading(let done, let total): "Uploading your responses: \(done) of \(total) recordings."
    case .analyzing(let submission):
      submission.total > 0 && submission.stage != .received
        ? "\(submission.stage.text): \(submission.done) of \(submission.total)." : "\(submission.stage.text)."
    case .complete: "All set."
    case .failed(let failure): failure.text
    }
  }
}

extension SubmissionStage {
  /// What is being done, in words for the person.
  public var text: String {
    switch self {
    case .received: "Your responses are safe"
    case .storingAudio: "Storing your recordings"
    case .transcribing: "Listening to your recordings"
    case .extracting: "Understanding your responses"
    case .cloning: "Learning your voice"
    case .done: "All set"
    case .failed: "Stopped"
    case .unspecified, .unrecognized: "Analyzing your responses"
    }
  }

  /// Whether nothing follows.
  var isLast: Bool { self == .done || self == .failed }
}
