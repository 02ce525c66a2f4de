internal import Idempotency
internal import Jobs
internal import Limits
internal import Pages
public import PostgreSQL

extension OnboardingMigrations {
  /// What is declared of every table of the schema; `README.md` of the service shows it.
  public static let tables: [TableDeclaration] =
    answers + submissions + identity + JobsMigration.tables() + [
      IdempotencyMigration.table,
      RateLimitMigration.table(removedBy: "rate limit sweep", after: "a day after the last call"),
      PageKeyMigration.table, .migrations,
    ]

  private static let answers = [
    TableDeclaration(
      "answer", bound: "99 steps for each account", removedBy: [.deletion], after: "with the account",
      personal: ["user_id", "value", "recording", "fields", "voice_uri"],
      others: "step type answered_at received_at duration_seconds audio_size audio_format"),
    TableDeclaration(
      "recording", bound: "the quota of recordings of each account",
      removedBy: [.task("onboarding sweep: recordings"), .deletion],
      after: "30 days after the last answer with it (`orphan.retention`)", personal: ["user_id", "digest", "transcript"],
      others: """
        size format media_type stage_id stored_at duration_ms state model reason attempts created_at updated_at unreferred_since
        """),
    TableDeclaration(
      "staged_bytes", bound: "recordings and uploads on their way",
      removedBy: [.use, .task("onboarding sweep: uploads"), .deletion],
      after: "when the object store has them",
      personal: ["user_id", .hidden("data", "Each recording is a document of its own.")], others: "stage_id start"),
    TableDeclaration(
      "unwanted_recording", bound: "the recordings that the object store still has to delete",
      removedBy: [.task("onboarding sweep: objects"), .deletion], after: "when the object store has answered",
      personal: ["user_id", "digest"], others: "since due_at"),
    TableDeclaration(
      "upload", bound: "the quota of recordings of each account", removedBy: [.task("onboarding sweep: uploads"), .deletion],
      after: "7 days after its last piece (`upload.retention`)", personal: ["user_id", "upload_id", "digest"],
      others: "size media_type received stage_id completed_at touched_at"),
    TableDeclaration(
      "anonymous_record_lookup", bound: "the bytes of all together (`anonymous.maxBytes`)",
      removedBy: [.use, .task("onboarding sweep: anonymous")], after: "30 days (`anonymous.retention`): nobody knows whose it is",
      others: "key_hash record expires_at part size"),
    TableDeclaration(
      "anonymous_size", bound: "sixteen rows", removedBy: [.nobody], after: "never", others: "part bytes"),
  ]

  private static let submissions = [
    TableDeclaration(
      "submission", bound: "the newest of each account, and what the limits of calls let through in 90 days",
      removedBy: [.task("onboarding sweep: superseded_submissions"), .deletion],
      after: "90 days after a newer one (`submission.retention`); the newest with the account",
      personal: [
        "user_id", "name", "zone", "device", .hidden("idempotency_key", "The client's own word."),
        .hidden("content_hash", "A hash of what is handed out."),
      ],
      others: """
        id number stage call_start call_minutes answers recordings retry_round created_at updated_at done_at renewals renewed_at rests_until \
        superseded_at course_pruned_at
        """),
    TableDeclaration(
      "submission_warning", bound: "some rows for each submission", removedBy: [.use, .deletion], after: "with the submission",
      personal: ["user_id", "message"], others: "submission_id step reason"),
    TableDeclaration(
      "submission_event", bound: "some rows for each submission",
      removedBy: [.task("onboarding sweep: submission_events"), .deletion],
      after: "90 days after the work ended (`submission.retention`), but for the last two",
      personal: ["user_id"], others: "submission_id sequence stage done total step at"),
    TableDeclaration(
      "effect", bound: "one row for each account and effect", removedBy: [.deletion], after: "with the account",
      personal: ["user_id"], others: "name at"),
    TableDeclaration(
      "work", bound: "one row for each account", removedBy: [.deletion], after: "with the account", personal: ["user_id"],
      others: "job_id run_lease"),
    TableDeclaration(
      "departure", bound: "the accounts that were deleted in the last half hour",
      removedBy: [.task("onboarding sweep: departures")],
      after: "half an hour, or longer while the object store does not answer",
      personal: [.kept("user_id", "So that nothing is taken for the account any more.")], others: "since until"),
  ]

  private static let identity = [
    TableDeclaration(
      "identity", bound: "one row for each account", removedBy: [.deletion], after: "with the account",
      personal: ["user_id", "name", "summary"], others: "failure extracted_at updated_at"),
    TableDeclaration(
      "identity_field", bound: "one row for each account and field", removedBy: [.use, .deletion], after: "with the account",
      personal: ["user_id", "value", "quote"], others: "name source step model updated_at"),
    TableDeclaration(
      "identity_correction", bound: "one row for each account and field", removedBy: [.deletion], after: "with the account",
      personal: ["user_id", "value"], others: "name updated_at"),
    TableDeclaration(
      "voice", bound: "one row for each account", removedBy: [.deletion], after: "with the account",
      personal: ["user_id", "voice_id", "statement"],
      others: """
        state failure consented_at withdrawn_at recloned_at updated_at made_at recloned_before renewals
        """),
    TableDeclaration(
      "unwanted_voice", bound: "the voices that the provider still has to delete",
      removedBy: [.use, .task("onboarding sweep: voices")],
      after: "when the provider has answered", personal: [.kept("user_id", atProvider), .kept("voice_id", atProvider)],
      others: "since"),
    TableDeclaration(
      "expected_voice", bound: "the calls to the provider that were cut", removedBy: [.use, .task("onboarding sweep: expected")],
      after: "15 minutes, or longer while the provider does not answer",
      personal: [
        .kept("user_id", atProvider), .kept("key", atProvider),
        .hidden("kept_voice", "The export has it with the voice.", kept: atProvider),
      ],
      others: "since until unwanted_since attempts"),
  ]

  private static let atProvider = "So that what the provider has is deleted there, too."
}
