/// How a run ended.
enum RunOutcome: String, CaseIterable {
  /// The job is done.
  case done
  /// It is tried again.
  case failed
  /// It is not tried again.
  case died
  /// The worker stopped and gave it back, or something else went first.
  case givenBack = "given_back"
  /// The run had lost its lease, so its end counts for nothing.
  case lost
}
