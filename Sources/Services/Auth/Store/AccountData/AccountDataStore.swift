public import AuthDomain
public import Jobs
public import PostgreSQL
internal import Values

/// What this service itself keeps of people: read out, counted, and deleted.
public struct AccountDataStore: Sendable {
  /// A person, by everything that rows know them by.
  public struct Person: Sendable {
    /// The account.
    public var user: UserID
    /// How the broker's ledger knows them.
    public var subjects: [SubjectHash]
    /// The audiences of the account's app, whose rows of the ledger are the account's.
    public var audiences: [String]
    /// What the operator has given to hash subjects with; nil where the database has it.
    public var salt: [UInt8]?

    /// A person.
    public init(_ user: UserID, subjects: [SubjectHash] = [], audiences: [String] = [], salt: [UInt8]? = nil) {
      self.salt = salt
      self.user = user
      self.subjects = subjects
      self.audiences = audiences
    }
  }

  let database: Database
  let patience: Duration
  let jobs: JobQueue
  /// How many rows are read at once.
  private let pageSize: Int64

  /// What is kept in `database`.
  ///
  /// - Parameters:
  ///   - database: Where it is.
  ///   - jobs: The queue, in which people have jobs too.
  ///   - patience: How long a transaction may take.
  ///   - pageSize: How many rows are read at once.
  public init(_ database: Database, jobs: JobQueue, patience: Duration = .seconds(30), pageSize: Int = 500) {
    self.database = database
    self.jobs = jobs
    self.patience = patience
    self.pageSize = Int64(pageSize)
  }

  /// The identities that sign in to an account.
  public func identities(
    of user: UserID
  ) async throws(DatabaseError) -> [(app: String, provider: IdentityProvider, subject: String)] {
    let rows: [(String, String, String)] = try await database.rows(
      "select app, provider, subject from auth.identity_lookup where user_id = \(UUID(user)) order by app, provider, subject")
    var identities: [(String, IdentityProvider, String)] = []
    for row in rows { identities.append((row.0, try named(row.1), row.2)) }
    return identities
  }

  /// Reads out everything, table by table, each row as one JSON object: the kind, and some of its rows.
  public func read(
    _ person: Person, _ take: (_ kind: String, _ rows: [String]) async throws -> Void
  ) async throws {
    for records in AccountRecords.all {
      var place = UUID(high: 0, low: 0)
      while true {
        let rows: [(UUID, String)] = try await database.rows(records.page(person, place, pageSize))
        if !rows.isEmpty { try await take(records.kind, rows.map(\.1)) }
        guard records.isPaged, rows.count == Int(pageSize), let last = rows.last else { break }
        place = last.0
      }
    }
  }

  /// How many rows there are of each kind; kinds without any are left out.
  public func count(_ person: Person) async throws(DatabaseError) -> [AccountWork.Count] {
    let isThere =
      try await database.value(
        "select exists (select from auth.account where user_id = \(UUID(person.user)))", as: Bool.self) ?? false
    var counts: [AccountWork.Count] = []
    for records in AccountRecords.all {
      let count: Int64 = try await database.value(records.count(person)) ?? 0
      guard count > 0 else { continue }
      counts.append(AccountWork.Count(records.kind, held: count, whyHeld: isThere ? "" : records.whyKept))
    }
    return counts
  }
}
