internal import AuthDomain
internal import PostgreSQL
internal import Values

/// A table with rows of a person.
struct AccountRecords: Sendable {
  typealias Person = AccountDataStore.Person

  /// What the rows are, in the plural: the document of an export, the kind of a report.
  let kind: String
  /// Whether it may have more rows than are read at once. Then they are read in the order of a UUID.
  let isPaged: Bool
  /// Why rows are there after a deletion; empty where none are.
  let whyKept: String
  /// A place to go on from, and a row as JSON.
  let page: @Sendable (_ person: Person, _ after: UUID, _ limit: Int64) -> Query
  /// How many rows there are.
  let count: @Sendable (_ person: Person) -> Query

  private init(
    _ kind: String, isPaged: Bool = false, whyKept: String = "", page: @escaping @Sendable (Person, UUID, Int64) -> Query,
    count: @escaping @Sendable (Person) -> Query
  ) {
    self.kind = kind
    self.isPaged = isPaged
    self.whyKept = whyKept
    self.page = page
    self.count = count
  }

  /// Why sessions stay for a while.
  static let sessionsKept =
    "So that each device is told why it was signed out. Without device and address; removed when ended sessions are."
  /// Why the activity stays.
  static let activityKept = "What was done with an account stays provable. Without address and request."
  /// Why the broker's ledger stays.
  static let tokensKept =
    "Who was given access to cloud services stays provable. Without address and request, under a salted hash."
  /// Why what an operator stopped stays stopped.
  static let stopsKept = "Who was stopped does not get cloud tokens again by deleting an account. Under a salted hash."
  /// Why events of purchases stay.
  static let eventsKept =
    "An event that comes again is known: its id and its type. Purchases that were handed on stay the other person's."
  /// Why the deletion itself is known.
  static let deletionsKept = "So that the receipt can be answered. Removed after a while."

  /// All tables whose rows are a person's. Tokens, hashes of tokens and keys are nobody's data and are not handed out.
  static let all: [AccountRecords] = [
    AccountRecords("accounts") { person, _, _ in
      """
      select user_id, row_to_json(r)::text from (
        select user_id, app, provider, name, email, email_is_verified, email_is_private, email_is_forwarded, email_told_at, created_at,
          suspended_at, suspended_by, suspension_reason, deleting_at
        from auth.account where user_id = \(UUID(person.user))) as r
      """
    } count: {
      "select count(*) from auth.account where user_id = \(UUID($0.user))"
    },
    AccountRecords("identities") { person, _, _ in
      """
      select user_id, row_to_json(r)::text from (
        select user_id, app, provider, subject, created_at from auth.identity_lookup where user_id = \(UUID(person.user))
        order by app, provider, subject) as r
      """
    } count: {
      "select count(*) from auth.identity_lookup where user_id = \(UUID($0.user))"
    },
    AccountRecords("sessions", isPaged: true, whyKept: sessionsKept) { person, place, limit in
      """
      select id, row_to_json(r)::text from (
        select id, app, provider, device_name, platform, app_version, created_at, authenticated_at, last_used_at, last_address,
          expires_at, ends_at, ended_at, end_cause
        from auth.session where user_id = \(UUID(person.user)) and id > \(place) order by id limit \(limit)) as r
      """
    } count: {
      "select count(*) from auth.session where user_id = \(UUID($0.user))"
    },
    AccountRecords("activity", isPaged: true, whyKept: activityKept) { person, place, limit in
      """
      select id, row_to_json(r)::text from (
        select id, at, app, action, outcome, reason, session_id, client_address, request_id, actor, note
        from auth.activity where user_id = \(UUID(person.user)) and id > \(place) order by id limit \(limit)) as r
      """
    } count: {
      "select count(*) from auth.activity where user_id = \(UUID($0.user))"
    },
    AccountRecords("cloud_tokens", isPaged: true, whyKept: tokensKept) { person, place, limit in
      """
      select id, row_to_json(r)::text from (
        select id, issued_at, audience, capability, account, scope, expires_at, client_address, request_id, outcome, reason
        from auth.token_issuance
        where subject_hash = any(\(person.subjects.map(\.description))) and audience = any(\(person.audiences)) and id > \(place)
        order by id limit \(limit)) as r
      """
    } count: {
      """
      select count(*) from auth.token_issuance
      where subject_hash = any(\($0.subjects.map(\.description))) and audience = any(\($0.audiences))
      """
    },
    AccountRecords("cloud_token_counts") { person, _, _ in
      """
      select \(UUID(person.user)), row_to_json(r)::text from (
        select capability, day, issued, cap from auth.capability_use
        where subject_hash = any(\(person.subjects.map(\.description))) order by day, capability) as r
      """
    } count: {
      "select count(*) from auth.capability_use where subject_hash = any(\($0.subjects.map(\.description)))"
    },
    AccountRecords("stops", whyKept: stopsKept) { person, _, _ in
      """
      select \(UUID(person.user)), row_to_json(r)::text from (
        select capability, is_stopped, reason, changed_at, changed_by from auth.kill_switch_change
        where subject_hash = any(\(person.subjects.map(\.description))) order by id) as r
      """
    } count: {
      "select count(*) from auth.kill_switch_change where subject_hash = any(\($0.subjects.map(\.description)))"
    },
    AccountRecords("entitlements") { person, _, _ in
      """
      select user_id, row_to_json(r)::text from (
        select user_id, product_id, ends_at, grace_until, is_trial, has_billing_issue, will_renew, management_url, customer_id,
          checked_at, asked_at, snapshot_at
        from auth.entitlement where user_id = \(UUID(person.user))) as r
      """
    } count: {
      "select count(*) from auth.entitlement where user_id = \(UUID($0.user))"
    },
    AccountRecords("subscriptions") { person, _, _ in
      """
      select user_id, row_to_json(r)::text from (
        select user_id, product_id, ends_at, grace_until, is_trial, has_billing_issue, will_renew
        from auth.subscription_snapshot where user_id = \(UUID(person.user)) order by product_id) as r
      """
    } count: {
      "select count(*) from auth.subscription_snapshot where user_id = \(UUID($0.user))"
    },
    AccountRecords("customers") { person, _, _ in
      """
      select user_id, row_to_json(r)::text from (
        select user_id, customer_id, cause, linked_at from auth.customer_lookup where user_id = \(UUID(person.user))
        order by customer_id) as r
      """
    } count: {
      "select count(*) from auth.customer_lookup where user_id = \(UUID($0.user))"
    },
    AccountRecords("purchases", whyKept: eventsKept) { person, _, _ in
      """
      with own (ids) as (\(part: customers(of: person)))
      select \(UUID(person.user)), row_to_json(r)::text from (
        select event_id, type, is_sandbox, occurred_at, received_at, product_id, entitlements, expires_at, grace_until, period, reason,
          array(select id from unnest(customers) as t (id) where id = any (ids)) as customers,
          array(select id from unnest(transferred_from) as t (id) where id = any (ids)) as transferred_from,
          array(select id from unnest(transferred_to) as t (id) where id = any (ids)) as transferred_to,
          -- Of purchases that were handed on, what was posted names the other person, too.
          case when all_customers <@ ids then convert_from(body, 'UTF8') end as body
        from auth.webhook_event, own where all_customers && ids order by occurred_at, event_id) as r
      """
    } count: {
      "select count(*) from auth.webhook_event where all_customers && \(part: customers(of: $0))"
    },
    AccountRecords("grants") { person, _, _ in
      """
      select \(UUID(person.user)), row_to_json(r)::text from (
        select provider, client_id, granted_at, ended_at, ending, failed_at, failure from auth.provider_grant
        where user_id = \(UUID(person.user)) order by provider, client_id) as r
      """
    } count: {
      "select count(*) from auth.provider_grant where user_id = \(UUID($0.user))"
    },
    AccountRecords("exports") { person, _, _ in
      """
      select id, row_to_json(r)::text from (
        select id, created_at, done_at, expires_at, byte_count from auth.account_work
        where user_id = \(UUID(person.user)) and kind = 'export' order by id) as r
      """
    } count: {
      "select count(*) from auth.account_work where user_id = \(UUID($0.user)) and kind = 'export'"
    },
    AccountRecords("deletions", whyKept: deletionsKept) { person, _, _ in
      """
      select id, row_to_json(r)::text from (
        select id, created_at, done_at from auth.account_work
        where user_id = \(UUID(person.user)) and kind = 'deletion') as r
      """
    } count: {
      "select count(*) from auth.account_work where user_id = \(UUID($0.user)) and kind = 'deletion'"
    },
  ]

  /// The ids that RevenueCat knows a person by.
  private static func customers(of person: Person) -> Query {
    """
    (select array_agg(customer_id collate "default") || \(UUID(person.user))::text
     from auth.customer_lookup where user_id = \(UUID(person.user)))
    """
  }
}
