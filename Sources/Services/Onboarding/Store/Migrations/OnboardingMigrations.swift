internal import Idempotency
internal import Jobs
internal import Limits
internal import Pages
public import PostgreSQL

/// The steps of the schema `onboarding`, oldest first.
public enum OnboardingMigrations {
  /// The schema.
  public static let schema = "onboarding"

  /// All of them. A released one never changes.
  public static let all: [Migration] = [
    Migration(1, "create_answers", createAnswers), Migration(2, "create_identity", createIdentity),
    Migration(3, "create_jobs", JobsMigration.create(schema: "onboarding", role: "parley_onboarding")),
    Migration(4, "hold_jobs", JobsMigration.hold(schema: "onboarding", role: "parley_onboarding")),
    Migration(5, "create_rate_limits", RateLimitMigration.create(schema: schema, role: role)),
    Migration(6, "create_idempotency", IdempotencyMigration.create(schema: schema, role: role)),
    Migration(7, "create_unwanted_recordings", createUnwantedRecordings),
    Migration(8, "create_expected_voices", createExpectedVoices),
    Migration(9, "count_renewals", countRenewals),
    Migration(10, "remember_voices", rememberVoices),
    Migration(11, "create_work", createWork),
    Migration(12, "create_departures", createDepartures),
    Migration(13, "keep_allowances", keepAllowances),
    Migration(14, "rest_submissions", restSubmissions),
    Migration(15, "find_unfinished", findUnfinished),
    Migration(16, "create_page_key", PageKeyMigration.create(schema: schema, role: role)),
    Migration(17, "doubt_voices", doubtVoices),
    Migration(18, "create_effects", createEffects),
    Migration(19, "retain_submissions", retainSubmissions),
    Migration(20, "bound_anonymous", boundAnonymous),
  ]

  private static let role = "parley_onboarding"
}
