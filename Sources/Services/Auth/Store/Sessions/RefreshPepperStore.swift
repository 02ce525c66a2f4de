public import AuthDomain
internal import EventLoop
public import PostgreSQL
internal import Values

/// A pepper as it is kept: sealed.
public struct StoredPepper: Sendable, Hashable {
  /// Its place in the row of peppers.
  public var times: PepperTimes
  /// The pepper, sealed.
  public var sealed: [UInt8]
  /// The name of the key-encryption key.
  public var sealedWith: String

  /// A pepper as it is kept.
  public init(times: PepperTimes, sealed: [UInt8], sealedWith: String) {
    self.times = times
    self.sealed = sealed
    self.sealedWith = sealedWith
  }
}

/// What refresh tokens are made with, shared by all copies of the service.
public struct RefreshPepperStore: Sendable {
  private let database: Database
  /// How long one statement may take.
  private let patience: Duration

  /// The peppers in `database`.
  public init(_ database: Database, patience: Duration = .seconds(5)) {
    self.database = database
    self.patience = patience
  }

  private var deadline: MonotonicInstant { MonotonicInstant.now().advanced(by: patience) }

  /// All of them, in the order of their generations.
  public func all() async throws(DatabaseError) -> [StoredPepper] {
    let rows: [(Int32, Instant, Instant, [UInt8], String)] = try await database.rows(
      """
      select generation, created_at, activates_at, sealed_pepper, sealed_with from auth.refresh_pepper order by generation
      """, deadline: deadline)
    return rows.map { row in
      StoredPepper(
        times: .init(generation: Int(row.0), createdAt: row.1, activatesAt: row.2), sealed: row.3,
        sealedWith: row.4)
    }
  }

  /// Adds a pepper, unless another copy has added one of this generation.
  ///
  /// - Returns: Whether it is this one.
  public func add(_ pepper: StoredPepper) async throws(DatabaseError) -> Bool {
    try await database.execute(
      """
      insert into auth.refresh_pepper (generation, created_at, activates_at, sealed_pepper, sealed_with)
      values (\(Int32(pepper.times.generation)), \(pepper.times.createdAt), \(pepper.times.activatesAt),
        \(pepper.sealed), \(pepper.sealedWith))
      on conflict (generation) do nothing
      """, deadline: deadline) == 1
  }

  /// Seals a pepper with another key, unless another copy has done so.
  ///
  /// - Returns: Whether it was replaced.
  @discardableResult
  public func rewrap(_ pepper: StoredPepper, as bytes: [UInt8], with name: String) async throws(DatabaseError) -> Bool {
    try await database.execute(
      """
      update auth.refresh_pepper set sealed_pepper = \(bytes), sealed_with = \(name)
      where generation = \(Int32(pepper.times.generation)) and sealed_with = \(pepper.sealedWith)
      """, deadline: deadline) == 1
  }

  /// Forgets peppers.
  public func remove(_ generations: [Int]) async throws(DatabaseError) {
    try await database.execute(
      "delete from auth.refresh_pepper where generation = any(\(generations.map(Int32.init)))", deadline: deadline)
  }
}
