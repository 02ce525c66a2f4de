public import AuthDomain
internal import EventLoop
public import PostgreSQL

/// What is known of subscriptions, and how it changes: by events, and by what RevenueCat answers.
///
/// Each change is one transaction that locks the customers it names, then the accounts they belong to, both in order; what holds
/// for an account is computed anew from all that is known of it. So copies of the service may take events at once.
public final class EntitlementStore: Sendable {
  /// What became of an event.
  public enum EventOutcome: Sendable, Hashable {
    /// It was there already.
    case repeated
    /// It is durable, and so is what follows from it for these accounts.
    case taken([UserID])
  }

  /// What became of an answer of RevenueCat's.
  public enum AnswerOutcome: Sendable, Hashable {
    /// It holds now, or something newer does.
    case applied(EntitlementRecord)
    /// The customer is another account's, so it says nothing of this one.
    case linkedElsewhere
  }

  let database: Database
  private let entitlements: Set<String>
  private let patience: Duration

  /// Subscriptions in `database`.
  ///
  /// - Parameters:
  ///   - database: Where they are.
  ///   - entitlements: The names of the entitlements that count; empty for any.
  ///   - patience: How long a transaction may take.
  public init(_ database: Database, entitlements: Set<String>, patience: Duration = .seconds(10)) {
    self.database = database
    self.entitlements = entitlements
    self.patience = patience
  }

  /// What is known of an account's subscription; nil when nobody ever asked or told.
  public func record(of user: UserID) async throws(DatabaseError) -> EntitlementRecord? {
    try await EntitlementRow.read(of: user, on: database.reads)
  }

  /// The account that a customer is linked to.
  public func user(of customer: CustomerID) async throws(DatabaseError) -> UserID? {
    let found: UUID? = try await database.reads.value(
      "select user_id from auth.customer_lookup where customer_id = \(customer.text)")
    return found.map(UserID.init)
  }

  // MARK: Events

  /// Takes an event: claims it by its id, links the customers that it names, computes what follows, and leaves word that
  /// RevenueCat is to be asked.
  ///
  /// - Throws: ``PostgreSQL/DatabaseError``; then nothing of it is done.
  public func take(_ event: BillingEvent, body: [UInt8], at now: Moment) async throws -> EventOutcome {
    try await transaction { transaction in
      guard try await EventRow.insert(event, body, now, on: transaction) else { return .repeated }
      // A test names a customer that does not exist.
      guard event.type != "TEST" else { return .taken([]) }
      try await CustomerLinks.lock(event.allCustomers, on: transaction)
      let users = try await CustomerLinks.follow(event, at: now, on: transaction)
      for user in users { try await EntitlementRow.lock(user, at: now, on: transaction) }
      let takers = try await HistoryReader.takers(from: users, on: transaction)
      for user in takers {
        try await EntitlementRow.lock(user, at: now, on: transaction)
        try await self.recompute(user, heardAt: now, on: transaction)
      }
      for user in users {
        try await self.recompute(user, heardAt: now, on: transaction)
        try await transaction.execute(
          """
          update auth.entitlement set reread_due_at = \(Timestamp(now)), reread_wanted_at = \(Timestamp(now)), reread_attempts = 0,
            customer_id = coalesce(customer_id, \(event.customers.first?.text))
          where user_id = \(UUID(user))
          """)
      }
      return .taken(users + takers)
    }
  }

  // MARK: Answers

  /// Takes what RevenueCat answered about an account: links the customer, and computes what holds now.
  ///
  /// - Parameters:
  ///   - snapshot: What the customer has and had. One that is older than the last one changes nothing.
  ///   - original: The customer's first id, which RevenueCat names when it is asked for the account.
  ///   - managementURL: Where the person manages it.
  ///   - user: The account that was asked for.
  ///   - startedAt: When the question was put: what was wanted later is still to be asked.
  ///   - now: The time of the answer.
  public func apply(
    _ snapshot: SubscriptionSnapshot, original: CustomerID, managementURL: String?, to user: UserID, startedAt: Moment,
    at now: Moment
  ) async throws -> AnswerOutcome {
    try await transaction { transaction in
      try await CustomerLinks.lock([original, CustomerID(user)], on: transaction)
      let isLinked = try await CustomerLinks.link(original, to: user, at: now, on: transaction)
      try await EntitlementRow.lock(user, at: now, on: transaction)
      // Asked and answered, whatever the answer is worth.
      try await transaction.execute(
        """
        update auth.entitlement set asked_at = \(Timestamp(now)), checked_at = \(Timestamp(now)), reread_attempts = 0,
          reread_due_at = case when reread_wanted_at > \(Timestamp(startedAt)) then reread_due_at end
        where user_id = \(UUID(user))
        """)
      guard isLinked else { return .linkedElsewhere }
      let isNewer =
        try await transaction.execute(
          """
          update auth.entitlement set snapshot_at = \(Timestamp(snapshot.at)), management_url = \(managementURL),
            customer_id = \(original.text)
          where user_id = \(UUID(user)) and (snapshot_at is null or snapshot_at <= \(Timestamp(snapshot.at)))
          """) == 1
      if isNewer { try await SnapshotRow.replace(snapshot.subscriptions, of: user, on: transaction) }
      try await self.recompute(user, heardAt: now, on: transaction)
      return .applied(try await EntitlementRow.read(of: user, on: transaction) ?? EntitlementRecord())
    }
  }

  // MARK: Internals

  private func recompute(_ user: UserID, heardAt now: Moment, on transaction: Transaction) async throws(DatabaseError) {
    let history = try await HistoryReader.read(around: user, counting: entitlements, on: transaction)
    let snapshot = try await SnapshotRow.read(of: user, on: transaction)
    let best = history.subscriptions(of: .user(user), since: snapshot).best
    try await EntitlementRow.write(best, of: user, heardAt: now, on: transaction)
  }

  private func transaction<Value: Sendable>(
    _ body: @escaping @Sendable (Transaction) async throws -> Value
  ) async throws -> Value {
    let deadline = MonotonicInstant.now().advanced(by: patience)
    return try await database.transaction(retrying: 5, isolation: .readCommitted, deadline: deadline) { try await body($0) }
  }
}
