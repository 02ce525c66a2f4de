internal import Jobs
internal import Logging
internal import OnboardingDomain
internal import OnboardingStore
internal import Telemetry
internal import Values

/// What operators learn of the work: nothing of what anybody said.
struct PipelineJournal: Sendable {
  let log: Logger
  private let metrics: PipelineMetrics

  init(_ log: Logger, _ metrics: PrometheusRegistry) {
    self.log = log
    self.metrics = PipelineMetrics(metrics)
  }

  /// - Parameter user: Whose; nil where nothing is kept of anybody.
  func failed(_ what: String, _ failure: ProviderFailure, of user: UUID? = nil, _ course: SubmissionCourse? = nil) {
    var fields: Logger.Metadata = ["what": "\(what)", "failure": "\(failure)"]
    if let user { fields["user"] = "\(user)" }
    if let course {
      fields["submission"] = "\(course.id)"
      fields["attempt"] = "\(course.run.attempt)"
      fields["round"] = "\(course.round)"
    }
    log.warning("a part of onboarding did not go well", metadata: fields)
    metrics.failed(what, failure.reason)
  }

  func failed(_ what: String, _ failure: ProviderFailure, _ course: SubmissionCourse) {
    failed(what, failure, of: course.user, course)
  }

  func written(_ outcome: RecordingStore.Outcome) {
    let word =
      switch outcome {
      case .words: "done"
      case .nothing(let state): state.rawValue
      case .failed: "failed"
      }
    metrics.written(word)
  }

  func extracted(_ word: String) { metrics.extracted(word) }

  func cloned() { metrics.cloned() }

  func ended(_ course: SubmissionCourse, _ rest: SubmissionPipeline.Rest, isLastRound: Bool) {
    let outcome: PipelineMetrics.RoundOutcome =
      switch rest {
      case .nothing: .done
      case .waits: .waiting
      case .failed: isLastRound ? .leftToOperators : .partly
      }
    metrics.ended(outcome)
    log.info(
      "a round of onboarding has ended",
      metadata: [
        "submission": "\(course.id)", "user": "\(course.user)", "round": "\(course.round)", "outcome": "\(outcome.rawValue)",
      ])
  }

  func gaveUp(_ course: SubmissionCourse) {
    metrics.gaveUp()
    log.error(
      "a submission was given up: its work failed as often as it was begun",
      metadata: ["submission": "\(course.id)", "user": "\(course.user)"])
  }

  func superseded(_ course: SubmissionCourse) {
    metrics.ended(.superseded)
    log.info(
      "a round of onboarding has ended, for there are newer answers",
      metadata: ["submission": "\(course.id)", "user": "\(course.user)", "round": "\(course.round)"])
  }
}
