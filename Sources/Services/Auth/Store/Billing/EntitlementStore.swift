public import AuthDomain
internal import EventLoop
public import PostgreSQL
public import Values

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
    /// There is no such account any more, so nothing was stored.
    case noAccount
  }

  let database: Database
  private let entitlements: Set<String>
  private let pause: Duration
  private let patience: Duration

  /// Subscriptions in `database`.
  ///
  /// - Parameters:
  ///   - database: Where they are.
  ///   - entitlements: The names of the entitlements that count; empty for any.
  ///   - pause: For how long calls do not have RevenueCat asked after a first answer that opened nothing.
  ///   - patience: How long a transaction may take.
  public init(
    _ database: Database, entitlements: Set<String>, pause: Duration = .seconds(5), patience: Duration = .seconds(10)
  ) {
    self.database = database
    self.entitlements = entitlements
    self.pause = pause
    self.patience = patience
  }

  /// What is known of an account's subscription; nil when nobody ever asked or told.
  public func record(of user: UserID) async throws(DatabaseError) -> EntitlementRecord? {
    try await EntitlementRow.read(of: user, on: database.reads)
  }

  /// The account that a customer is: by its own id, or by a link.
  public func user(of customer: CustomerID) async throws(DatabaseError) -> UserID? {
    try await CustomerLinks.users(of: [customer], on: database.reads)[customer]
  }

  /// Whether there is such an account, and it is not being deleted.
  public func hasAccount(_ user: UserID) async throws(DatabaseError) -> Bool {
    try await database.reads.value(
      "select exists (select from auth.account where user_id = \(UUID(user)) and deleting_at is null)") ?? false
  }

  // MARK: Events

  /// Takes an event: claims it by its id, links the customers that it names, computes what follows, and leaves word that
  /// RevenueCat is to be asked.
  ///
  /// Of an event that is about no account its id and its type are kept and nothing else: it may be about somebody who was deleted, and
  /// what it says of somebody who signs in later is in RevenueCat's own record. Ids of people who are gone are left out of any event,
  /// and then what was posted is, too.
  ///
  /// - Throws: ``PostgreSQL/DatabaseError``; then nothing of it is done.
  public func take(_ event: BillingEvent, body: [UInt8], at now: Instant) async throws -> EventOutcome {
    try await transaction { transaction in
      try await CustomerLinks.lock(event.allCustomers, on: transaction)
      let owners = try await CustomerLinks.owners(of: event.allCustomers, on: transaction)
      guard let kept = KeptEvent(event, owners) else {
        return try await EventRow.insert(event.id, event.type, now, on: transaction) ? .taken([]) : .repeated
      }
      guard try await EventRow.insert(kept.event, kept.isWhole ? body : [], now, on: transaction) else { return .repeated }
      let users = try await CustomerLinks.follow(kept.event, owners, at: now, on: transaction)
      for user in users { _ = try await EntitlementRow.lock(user, on: transaction) }
      let takers = try await HistoryReader.takers(from: users, on: transaction)
      for user in takers where try await EntitlementRow.lock(user, on: transaction) {
        try await self.recompute(user, heardAt: now, on: transaction)
      }
      for user in users {
        try await self.recompute(user, heardAt: now, on: transaction)
        try await transaction.execute(
          """
          update auth.entitlement set reread_due_at = \(now), reread_wanted_at = \(now), reread_attempts = 0,
            ask_attempts = 0, ask_pause_until = null, ask_has_failed = false,
            customer_id = coalesce(customer_id, \(kept.event.customers.first?.text))
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
    _ snapshot: SubscriptionSnapshot, original: CustomerID, managementURL: String?, to user: UserID, startedAt: Instant,
    at now: Instant
  ) async throws -> AnswerOutcome {
    try await transaction { transaction in
      try await CustomerLinks.lock([original, CustomerID(user)], on: transaction)
      // It may have gone while RevenueCat thought about it.
      guard try await !CustomerLinks.lockAccounts([user], on: transaction).isEmpty else { return .noAccount }
      let link = try await CustomerLinks.link(original, to: user, at: now, on: transaction)
      guard try await EntitlementRow.lock(user, on: transaction) else { return .noAccount }
      // Asked and answered, whatever the answer is worth.
      try await transaction.execute(
        """
        update auth.entitlement set asked_at = \(now), checked_at = \(now), reread_attempts = 0,
          reread_due_at = case when reread_wanted_at > \(startedAt) then reread_due_at end
        where user_id = \(UUID(user))
        """)
      guard link.isOurs else {
        try await self.notePause(of: user, hasFailed: false, at: now, on: transaction)
        return .linkedElsewhere
      }
      let isNewer =
        try await transaction.execute(
          """
          update auth.entitlement set snapshot_at = \(snapshot.at), management_url = \(managementURL),
            customer_id = \(link.mayBeKept ? original.text : nil)
          where user_id = \(UUID(user)) and (snapshot_at is null or snapshot_at <= \(snapshot.at))
          """) == 1
      if isNewer { try await SnapshotRow.replace(snapshot.subscriptions, of: user, on: transaction) }
      try await self.recompute(user, heardAt: now, on: transaction)
      return .applied(try await self.notePause(of: user, hasFailed: false, at: now, on: transaction))
    }
  }

  /// Notes that RevenueCat had no answer about an account, so that not every call asks it again. Nothing is noted of nobody.
  public func noteFailure(of user: UserID, at now: Instant) async throws {
    try await transaction { transaction in
      guard try await EntitlementRow.lock(user, on: transaction) else { return }
      try await self.notePause(of: user, hasFailed: true, at: now, on: transaction)
    }
  }

  // MARK: Internals

  /// - Returns: The record as it is now.
  @discardableResult
  private func notePause(
    of user: UserID, hasFailed: Bool, at now: Instant, on transaction: Transaction
  ) async throws(DatabaseError) -> EntitlementRecord {
    var record = try await EntitlementRow.read(of: user, on: transaction) ?? EntitlementRecord()
    let isOpen = record.isOpen(until: now, at: now) != nil
    guard !isOpen || record.pause != AskingPause() else { return record }
    record.pause = isOpen ? AskingPause() : record.pause.next(at: now, hasFailed: hasFailed, first: pause)
    try await EntitlementRow.pause(record.pause, of: user, on: transaction)
    return record
  }

  private func recompute(_ user: UserID, heardAt now: Instant, on transaction: Transaction) async throws(DatabaseError) {
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
