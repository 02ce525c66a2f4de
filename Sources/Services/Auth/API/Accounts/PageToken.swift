internal import AuthDomain
internal import AuthStore
internal import Pages
internal import PostgreSQL
internal import RPC
internal import Values

/// Where a list goes on, as clients carry it about: sealed for one method and one reader.
struct PageToken: Sendable {
  private let tokens: PageTokens
  private let list: String
  private let reader: String

  /// The tokens of a call's list.
  ///
  /// - Parameters:
  ///   - keys: What seals them.
  ///   - call: The call, whose method is the list.
  ///   - user: Whose list it is; nil for one that all operators see alike.
  init(_ keys: PageKeyStore, _ call: CallContext, of user: UserID? = nil) async throws(DatabaseError) {
    tokens = try await keys.tokens()
    list = call.method.path
    reader = user?.description ?? ""
  }

  func session(_ session: SessionRecord) -> String { seal(session.lastUsedAt, session.id) }

  func session(_ text: String) throws(AccountRefusal) -> SessionStore.Place? {
    try place(text).map { SessionStore.Place(lastUsedAt: $0.at, id: $0.id) }
  }

  func user(_ account: Account) -> String { seal(account.createdAt, account.id) }

  func user(_ text: String) throws(AccountRefusal) -> UserDirectory.Place? {
    try place(text).map { UserDirectory.Place(createdAt: $0.at, id: $0.id) }
  }

  func activity(_ id: UUID) -> String { tokens.seal(id.bytes, in: list, of: reader) }

  func activity(_ text: String) throws(AccountRefusal) -> UUID? {
    guard let words = try words(text, 2) else { return nil }
    return UUID(high: words[0], low: words[1])
  }

  /// How many entries to answer.
  static func size(_ asked: Int32, atMost most: Int32 = 100) throws(AccountRefusal) -> Int {
    guard (0...most).contains(asked) else { throw AccountRefusal(field: "page_size", "1 to \(most), or 0 for 50") }
    return asked == 0 ? 50 : Int(asked)
  }

  private func seal(_ at: Instant, _ id: some Identifier) -> String {
    tokens.seal(Self.bytes(UInt64(bitPattern: at.microseconds)) + Self.bytes(id.high) + Self.bytes(id.low), in: list, of: reader)
  }

  private func place<ID: Identifier>(_ text: String) throws(AccountRefusal) -> (at: Instant, id: ID)? {
    guard let words = try words(text, 3) else { return nil }
    return (Instant(microseconds: Int64(bitPattern: words[0])), ID(high: words[1], low: words[2]))
  }

  /// So many words; nil for the first page.
  private func words(_ text: String, _ count: Int) throws(AccountRefusal) -> [UInt64]? {
    guard !text.isEmpty else { return nil }
    guard let bytes = tokens.open(text, in: list, of: reader), bytes.count == 8 * count else {
      throw AccountRefusal(field: "page_token", "the next_page_token of the page before")
    }
    return (0..<count).map { index in bytes[8 * index..<8 * index + 8].reduce(0) { $0 << 8 | UInt64($1) } }
  }

  private static func bytes(_ word: UInt64) -> [UInt8] {
    stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
  }
}
