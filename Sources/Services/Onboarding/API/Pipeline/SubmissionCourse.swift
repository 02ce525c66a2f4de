internal import Jobs
internal import OnboardingDomain
internal import OnboardingStore
internal import Values

/// One run of the work on a submission.
struct SubmissionCourse: Sendable {
  let user: UUID
  let id: UUID
  let name: String
  let round: Int
  let run: JobRun
  /// What has been reached, in this run or one before.
  var stage: SubmissionStage
  /// What this job comes back to; the one that wants the longest pause.
  private(set) var postponed: ProviderFailure?

  init(_ submission: KeptSubmission, _ order: OnboardingJobs.Order, _ run: JobRun) {
    user = submission.user
    id = submission.id
    name = submission.name
    round = order.round
    stage = submission.stage
    self.run = run
  }

  /// Whether this is the course that people watch: the first, until it has ended.
  var tells: Bool { round == 0 && !stage.isLast }

  /// Whether the job does not come back after this run.
  var isLastAttempt: Bool { run.attempt >= run.maximumAttempts }

  mutating func postpone(_ failure: ProviderFailure) {
    guard let known = postponed else { return postponed = failure }
    if (failure.retryAfter ?? .zero) > (known.retryAfter ?? .zero) { postponed = failure }
  }
}
