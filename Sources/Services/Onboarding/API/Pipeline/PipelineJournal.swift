internal import Jobs
internal import Logging
internal import Metrics
internal import OnboardingDomain
internal import OnboardingStore

/// What operators learn of the work: nothing of what anybody said.
struct PipelineJournal: Sendable {
  let log: Logger

  init(_ log: Logger) { self.log = log }

  func failed(_ what: String, _ failure: ProviderFailure, _ course: SubmissionCourse? = nil) {
    var fields: Logger.Metadata = ["what": "\(what)", "failure": "\(failure)"]
    if let course {
      fields["submission"] = "\(course.id)"
      fields["attempt"] = "\(course.run.attempt)"
      fields["round"] = "\(course.round)"
    }
    log.warning("a part of onboarding did not go well", metadata: fields)
    count("failures", ["part": what, "reason": failure.reason])
  }

  func written(_ outcome: RecordingStore.Outcome) {
    let word =
      switch outcome {
      case .words: "done"
      case .nothing(let state): state.rawValue
      case .failed: "failed"
      }
    count("transcriptions", ["outcome": word])
  }

  func extracted(_ word: String) { count("extractions", ["outcome": word]) }

  func cloned() { count("voices", [:]) }

  func ended(_ course: SubmissionCourse, isLeft: Bool, isGivenUp: Bool) {
    let outcome = isGivenUp ? "given_up" : isLeft ? "partly" : "done"
    count("rounds", ["outcome": outcome])
    log.info(
      "a round of onboarding has ended",
      metadata: ["submission": "\(course.id)", "round": "\(course.round)", "outcome": "\(outcome)"])
  }

  private func count(_ name: String, _ labels: [String: String]) {
    Counter(label: "parley_onboarding_\(name)_total", dimensions: labels.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
      .increment()
  }
}
