/// What is done with a submission, in this order.
public enum SubmissionStage: String, Sendable, Hashable, CaseIterable, Comparable {
  /// All answers are durable.
  case received
  /// Recordings go to the object store.
  case storing
  /// Recordings are written down.
  case transcribing
  /// Answers are understood.
  case extracting
  /// A voice is made.
  case cloning
  /// All is done.
  case done
  /// It was given up.
  case failed

  /// How far that is for people, in percent (S1: 40 while uploading, 80 while analyzing, 100 at the end).
  public var percent: Int {
    switch self {
    case .received, .storing: 40
    case .transcribing, .extracting, .cloning: 80
    case .done, .failed: 100
    }
  }

  /// Whether `left` comes first.
  public static func < (left: SubmissionStage, right: SubmissionStage) -> Bool {
    (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
  }

  /// Whether nothing follows.
  public var isLast: Bool { self == .done || self == .failed }
}
