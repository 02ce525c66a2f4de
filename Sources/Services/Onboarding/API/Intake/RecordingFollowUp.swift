internal import Jobs
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import Values

/// Sees to it that a recording which comes outside a submission goes where those of submissions go.
struct RecordingFollowUp: Sendable {
  /// How long it waits: who answers one step after the other has one job for all, and who sends everything at once none.
  static let pause = Duration.seconds(60)

  let jobs: any JobEngine
  let now: @Sendable () -> Instant

  /// Adds the job to the transaction that keeps the recording as an answer, under the person's lock: before anything was submitted one that
  /// moves it to the object store, afterwards a round in which it is transcribed and understood as well.
  ///
  /// - Parameter newest: The person's newest submission, on which nobody works.
  func add(of user: UUID, _ newest: KeptSubmission?, to transaction: Transaction) throws {
    let start = now().advanced(by: Self.pause)
    guard let newest else { return try jobs.add([OnboardingJobs.storeRecordings(of: user, notBefore: start)], to: transaction) }
    let order = OnboardingJobs.Order(user: user, submission: newest.id, round: 1)
    let round = try OnboardingJobs.process.job(order, uniqueKey: "\(newest.id)/1", user: user, notBefore: start)
    try jobs.add([round], to: transaction)
  }
}
