public import AuthDomain
internal import EventLoop
public import PostgreSQL
internal import Values

/// A signing key as it is kept: its private half is sealed.
public struct StoredSigningKey: Sendable, Hashable {
  /// Its place in the row of keys.
  public var times: SigningKeyTimes
  /// The `kid` of its tokens.
  public var keyID: String
  /// The public half, a JSON Web Key.
  public var publicKey: String
  /// The private half, sealed.
  public var sealedPrivateKey: [UInt8]
  /// The name of the key-encryption key.
  public var sealedWith: String

  /// A key as it is kept.
  public init(times: SigningKeyTimes, keyID: String, publicKey: String, sealedPrivateKey: [UInt8], sealedWith: String) {
    self.times = times
    self.keyID = keyID
    self.publicKey = publicKey
    self.sealedPrivateKey = sealedPrivateKey
    self.sealedWith = sealedWith
  }
}

/// The signing keys, shared by all copies of the service.
public struct SigningKeyStore: Sendable {
  private let database: Database
  /// How long one statement may take.
  private let patience: Duration

  /// The keys in `database`.
  public init(_ database: Database, patience: Duration = .seconds(5)) {
    self.database = database
    self.patience = patience
  }

  private var deadline: MonotonicInstant { MonotonicInstant.now().advanced(by: patience) }

  /// All keys, in the order of their generations.
  public func all() async throws(DatabaseError) -> [StoredSigningKey] {
    let rows: [(Int32, String, Instant, Instant, String, [UInt8], String)] = try await database.rows(
      """
      select generation, key_id, created_at, activates_at, public_key, sealed_private_key, sealed_with
      from auth.signing_key order by generation
      """, deadline: deadline)
    return rows.map { row in
      StoredSigningKey(
        times: .init(generation: Int(row.0), createdAt: row.2, activatesAt: row.3), keyID: row.1,
        publicKey: row.4, sealedPrivateKey: row.5, sealedWith: row.6)
    }
  }

  /// Adds a key, unless another copy has added one of this generation.
  ///
  /// - Returns: Whether it is this one.
  public func add(_ key: StoredSigningKey) async throws(DatabaseError) -> Bool {
    try await database.execute(
      """
      insert into auth.signing_key
        (generation, key_id, created_at, activates_at, public_key, sealed_private_key, sealed_with)
      values (\(Int32(key.times.generation)), \(key.keyID), \(key.times.createdAt),
        \(key.times.activatesAt), \(key.publicKey), \(key.sealedPrivateKey), \(key.sealedWith))
      on conflict (generation) do nothing
      """, deadline: deadline) == 1
  }

  /// Replaces the sealed private half, unless another copy has done so.
  ///
  /// - Returns: Whether it was replaced.
  @discardableResult
  public func rewrap(_ generation: Int, sealedWith former: String, as bytes: [UInt8], with name: String)
    async throws(DatabaseError) -> Bool
  {
    try await database.execute(
      """
      update auth.signing_key set sealed_private_key = \(bytes), sealed_with = \(name)
      where generation = \(Int32(generation)) and sealed_with = \(former)
      """, deadline: deadline) == 1
  }

  /// Forgets keys.
  public func remove(_ generations: [Int]) async throws(DatabaseError) {
    try await database.execute(
      "delete from auth.signing_key where generation = any(\(generations.map(Int32.init)))", deadline: deadline)
  }
}
