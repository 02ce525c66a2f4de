internal import JSON
internal import Jobs
internal import OnboardingDomain
internal import Values

/// The jobs of onboarding.
enum OnboardingJobs {
  /// Which submission, and which time it is tried.
  struct Order: Sendable, Hashable {
    var user: UUID
    var submission: UUID
    /// 0 for the first time; 1 to 5 for what failed, again; ``OnboardingJobs/operatorsRound`` when an operator asks for it;
    /// ``OnboardingJobs/givingUp`` for the end of it.
    var round: Int
  }

  /// The round that operators have made. None follows it.
  static let operatorsRound = 100
  /// What a submission is given up by: a job like those that do its work, so that none of them goes on beside it.
  static let givingUp = -1

  /// Everything that is made of a submission.
  static let process = JobKind<Order>(
    "onboarding.process",
    retry: RetryPolicy(
      attempts: 4, firstPause: .seconds(2), longestPause: .seconds(60), longestRetryAfter: RetryPlan.longestWait),
    timeout: .seconds(3_600), encode: { Array("\($0.user)/\($0.submission)/\($0.round)".utf8) },
    decode: { bytes in
      let parts = String(decoding: bytes, as: UTF8.self).split(separator: "/").map(String.init)
      guard parts.count == 3, let user = UUID(parts[0]), let submission = UUID(parts[1]), let round = Int(parts[2]) else {
        throw Unreadable()
      }
      return Order(user: user, submission: submission, round: round)
    })

  /// Making a voice, for those who ask for it.
  static func clone(of user: UUID) throws -> NewJob { try clone.job(user, uniqueKey: user.description, user: user) }

  /// What ``clone(of:)`` makes.
  static let clone = person("onboarding.clone", RetryPolicy(attempts: 6, firstPause: .seconds(2), longestPause: .seconds(1_800)))
  /// Deleting voices at the provider. It is never given up, and outlives the account: it is nobody's.
  static func deleteVoices(of user: UUID) throws -> NewJob { try deleteVoices.job(user, uniqueKey: user.description) }

  /// What ``deleteVoices(of:)`` makes.
  static let deleteVoices = person(
    "onboarding.delete-voices", RetryPolicy(attempts: 1_000_000, firstPause: .seconds(5), longestPause: .seconds(3_600)))

  /// Looking for voices at the provider that may have come to be though nobody wants them. It is never given up, and outlives the
  /// account: it is nobody's.
  static func findVoices(of user: UUID, notBefore: Instant? = nil) throws -> NewJob {
    try findVoices.job(user, uniqueKey: user.description, notBefore: notBefore)
  }

  /// What ``findVoices(of:notBefore:)`` makes.
  static let findVoices = person(
    "onboarding.find-voices", RetryPolicy(attempts: 1_000_000, firstPause: .seconds(5), longestPause: .seconds(600)))

  /// Deleting once more what was on its way when an account was deleted. It is never given up, and is nobody's.
  static func deleteRest(of user: UUID, notBefore: Instant? = nil) throws -> NewJob {
    try deleteRest.job(user, uniqueKey: user.description, notBefore: notBefore)
  }

  /// What ``deleteRest(of:notBefore:)`` makes.
  static let deleteRest = person(
    "onboarding.delete-rest", RetryPolicy(attempts: 1_000_000, firstPause: .seconds(5), longestPause: .seconds(3_600)))

  /// Moving to the object store what the rounds have left. It is never given up.
  static func storeRecordings(of user: UUID, notBefore: Instant? = nil) throws -> NewJob {
    try storeRecordings.job(user, uniqueKey: user.description, user: user, notBefore: notBefore)
  }

  /// What ``storeRecordings(of:notBefore:)`` makes.
  static let storeRecordings = person(
    "onboarding.store", RetryPolicy(attempts: 1_000_000, firstPause: .seconds(60), longestPause: .seconds(3_600)))

  /// Offering a demo call, for those whose plan has one.
  static func offerDemo(to user: UUID) throws -> NewJob { try offerDemo.job(user, uniqueKey: user.description, user: user) }

  /// What ``offerDemo(to:)`` makes.
  static let offerDemo = person("onboarding.offer-demo", RetryPolicy())

  private static func person(_ name: String, _ retry: RetryPolicy) -> JobKind<UUID> {
    JobKind<UUID>(
      name, retry: retry, timeout: .seconds(600), encode: { Array($0.description.utf8) },
      decode: { bytes in
        guard let user = UUID(String(decoding: bytes, as: UTF8.self)) else { throw Unreadable() }
        return user
      })
  }

  private struct Unreadable: Error {}
}
