internal import Idempotency
internal import Jobs
internal import Limits
internal import Pages
public import PostgreSQL

extension AuthMigrations {
  /// What is declared of every table of the schema; `README.md` of the service shows it.
  public static let tables: [TableDeclaration] =
    accounts + sessions + broker + billing + accountWork + JobsMigration.tables() + [
      IdempotencyMigration.table,
      RateLimitMigration.table(removedBy: "limit sweep", after: "half an hour after the last call (`rateCleanupMins`)"),
      PageKeyMigration.table, .migrations,
    ]

  private static let accounts = [
    TableDeclaration(
      "account", bound: "the people who have signed in", removedBy: [.deletion], after: "with the account",
      personal: [
        "user_id", "name", "email", "suspension_reason",
      ],
      others: """
        app provider email_is_verified email_is_private created_at suspended_at suspended_by deleting_at email_is_forwarded email_told_at
        """),
    TableDeclaration(
      "identity_lookup", bound: "one or two rows for each account", removedBy: [.deletion], after: "with the account",
      personal: ["user_id", "subject"], others: "app provider created_at"),
    TableDeclaration(
      "provider_grant", bound: "one row for each account and client", removedBy: [.deletion], after: "with the account",
      personal: [
        "user_id", .hidden("sealed_token", "A secret of the provider's, sealed."), .hidden("sealed_code", "Likewise."),
      ],
      others: "provider client_id sealed_with granted_at code_expires_at code_due_at ended_at ending failed_at failure"),
    TableDeclaration(
      "provider_notice", bound: "what providers tell by themselves: a few for each account in its life", removedBy: [.nobody],
      after: "never: a notice serves once, for ever. None names a person", others: "provider id word occurred_at received_at"),
    TableDeclaration(
      "activity", bound: "what people do with their accounts: limited by address and account", removedBy: [.nobody],
      after: "never: an audit. What says who it was and from where goes with the account",
      personal: [
        .kept("user_id", "What was done with an account stays provable."), .kept("session_id", "Likewise."), "client_address",
        "request_id", "note",
      ], others: "id at app action outcome reason actor"),
  ]

  private static let sessions = [
    TableDeclaration(
      "nonce", bound: "sign-ins that are under way", removedBy: [.use, .task("account sweep")],
      after: "when it runs out, minutes",
      others: "hash app provider expires_at"),
    TableDeclaration(
      "exchanged_token", bound: "the sign-ins of the last hour", removedBy: [.task("account sweep")],
      after: "when the token has run out, an hour", others: "hash expires_at"),
    TableDeclaration(
      "session", bound: "the devices that are signed in, and those that were of late", removedBy: [.task("account sweep")],
      after: "30 days after its end (`session.endedRetention`)",
      personal: [
        .kept("user_id", told), .kept("id", told), "device_name", "platform", "app_version", "last_address",
        .hidden("token_hash", secret, kept: told), .hidden("spent_hash", secret, kept: told),
        .hidden("spent_attempt", secret, kept: told),
      ],
      others: """
        app provider created_at authenticated_at last_used_at expires_at ends_at generation spent_at ended_at end_cause
        """),
    TableDeclaration(
      "session_lookup", bound: "one row for each session", removedBy: [.task("account sweep")], after: "with its session",
      personal: [.kept("session_id", told), .kept("user_id", told)], others: "app"),
    TableDeclaration(
      "revocation", bound: "the sessions that ended in the last minutes", removedBy: [.task("account sweep")],
      after: "when the access tokens of the session have run out, minutes",
      personal: [.kept("session_id", "So that services refuse its tokens.")], others: "cursor cause matters_until"),
    TableDeclaration(
      "signing_key", bound: "the active key, the next one and those of late", removedBy: [.task("signing keys")],
      after: "when its last token is worthless",
      others: "generation key_id created_at activates_at public_key sealed_private_key sealed_with"),
    TableDeclaration(
      "refresh_pepper", bound: "the active one, the next and those of late", removedBy: [.task("refresh peppers")],
      after: "when no refresh token of it can live", others: "generation created_at activates_at sealed_pepper sealed_with"),
  ]

  private static let broker = [
    TableDeclaration(
      "token_issuance", bound: "what people ask of the broker: limited by address, person and day", removedBy: [.nobody],
      after: "never: an audit. What says from where goes with the account",
      personal: [
        .hidden("subject_hash", "A salted hash.", kept: "Who was given access to cloud services stays provable, without a name."),
        "client_address", "request_id",
      ], others: "id issued_at audience capability scope expires_at outcome reason account"),
    TableDeclaration(
      "capability_use", bound: "the people of today and their capabilities", removedBy: [.task("limit sweep")],
      after: "a day after its day",
      personal: [.hidden("subject_hash", "A salted hash.", kept: "So that no cap begins anew; for two days.")],
      others: "capability day issued asked cap granted"),
    TableDeclaration(
      "subject_salt", bound: "one row", removedBy: [.nobody], after: "never", others: "is_only salt"),
    TableDeclaration(
      "kill_switch", bound: "one row for each capability, and for each person that an operator stops", removedBy: [.nobody],
      after: "never", personal: [.hidden("subject_hash", "A salted hash.", kept: stopped)],
      others: "capability is_stopped reason changed_at changed_by"),
    TableDeclaration(
      "kill_switch_change", bound: "what operators do by hand", removedBy: [.nobody], after: "never: an audit",
      personal: [.hidden("subject_hash", "A salted hash.", kept: stopped)],
      others: "id capability is_stopped reason changed_at changed_by"),
  ]

  private static let billing = [
    TableDeclaration(
      "entitlement", bound: "one row for each account", removedBy: [.deletion], after: "with the account",
      personal: ["user_id", "management_url", "customer_id"],
      others: """
        product_id ends_at grace_until is_trial has_billing_issue will_renew checked_at asked_at snapshot_at reread_due_at reread_wanted_at \
        reread_attempts ask_attempts ask_pause_until ask_has_failed
        """),
    TableDeclaration(
      "subscription_snapshot", bound: "one row for each account and product", removedBy: [.deletion], after: "with the account",
      personal: ["user_id"], others: "product_id ends_at grace_until is_trial has_billing_issue will_renew"),
    TableDeclaration(
      "customer_lookup", bound: "the customers that RevenueCat has linked to an account", removedBy: [.deletion],
      after: "with the account", personal: ["customer_id", "user_id"], others: "cause linked_at"),
    TableDeclaration(
      "webhook_event", bound: "what RevenueCat posts: a few for each subscription in a month", removedBy: [.nobody],
      after: "never: an event that comes again years later is known. The body goes with the account",
      personal: [
        "customers", "transferred_from", "transferred_to", .hidden("all_customers", "The three above together."),
        .hidden("body", "The export has it as text."),
      ],
      others: """
        event_id type is_sandbox occurred_at received_at product_id entitlements expires_at grace_until period reason
        """),
    TableDeclaration(
      "forgotten_customer", bound: "one row for each RevenueCat customer of an account that was deleted", removedBy: [.nobody],
      after: "never: subscriptions renew for years after the account is gone",
      personal: [.hidden("hash", "A hash.", kept: "So that nothing that comes later is kept of the person.")], others: ""),
  ]

  private static let accountWork = [
    TableDeclaration(
      "account_work", bound: "one deletion and some exports for each account", removedBy: [.task("account work sweep")],
      after:
        "exports when they run out (`export.retention`), deletions with their receipt (90 days, `deletion.receiptRetention`)",
      personal: [.kept("user_id", receipt), .hidden("idempotency_key", "The client's own word.", kept: receipt)],
      others: "id app kind created_at done_at failure expires_at byte_count"),
    TableDeclaration(
      "account_work_step", bound: "one row for each service and provider of a work", removedBy: [.task("account work sweep")],
      after: "with its work", personal: [.kept("user_id", receipt)], others: "work_id name place attempts done_at failure"),
    TableDeclaration(
      "account_work_count", bound: "some rows for each step of a work", removedBy: [.task("account work sweep")],
      after: "with its work", personal: [.kept("user_id", receipt)], others: "work_id step kind deleted held why_held"),
    TableDeclaration(
      "deletion_receipt_lookup", bound: "one row for each deletion", removedBy: [.task("account work sweep")],
      after: "with its work",
      personal: [.hidden("hash", "A hash of the receipt.", kept: receipt), .kept("user_id", receipt)], others: "work_id"),
    TableDeclaration(
      "account_export_chunk", bound: "the exports that can be downloaded, each of a limited size",
      removedBy: [.task("account work sweep"), .deletion], after: "a day (`export.retention`), or once it is downloaded",
      personal: ["user_id", .hidden("data", "The export itself.")],
      others: "work_id step attempt sequence document content_type document_offset sha256 start rank"),
  ]

  private static let told = "So that each device is told why it was signed out."
  private static let secret = "A hash of a secret of the device."
  private static let stopped = "Whoever was stopped does not get cloud tokens again by deleting the account."
  private static let receipt = "So that the receipt of the deletion can be answered."
}
