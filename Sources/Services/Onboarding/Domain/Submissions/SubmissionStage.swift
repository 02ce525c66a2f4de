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
  ///
  /// - Parameter last: What was being done before. What was given up has come no further than that.
  public func percent(after last: SubmissionStage?) -> Int {
    switch self {
    case .received, .storing: 40
    case .transcribing, .extracting, .cloning: 80
    case .done: 100
    case .failed: last.map { $0 == .failed ? 40 : $0.percent(after: nil) } ?? 40
    }
  }

  /// Whether `left` comes first.
  public static func < (left: SubmissionStage, right: SubmissionStage) -> Bool {
    (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
  }

  /// Whether nothing follows.
  public var isLast: Bool { self == .done || self == .failed }
}
