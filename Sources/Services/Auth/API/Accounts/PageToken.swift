internal import AuthDomain
internal import AuthStore
internal import JOSE
internal import PostgreSQL

/// Where a list goes on, as clients carry it about. It names nothing that they have not seen.
enum PageToken {
  static func session(_ session: SessionRecord) -> String { place(session.lastUsedAt, session.id) }

  static func session(_ text: String) throws(AccountRefusal) -> SessionStore.Place? {
    try place(text).map { SessionStore.Place(lastUsedAt: $0.at, id: $0.id) }
  }

  static func user(_ account: Account) -> String { place(account.createdAt, account.id) }

  static func user(_ text: String) throws(AccountRefusal) -> UserDirectory.Place? {
    try place(text).map { UserDirectory.Place(createdAt: $0.at, id: $0.id) }
  }

  static func activity(_ id: UUID) -> String { Base64URL.encode(id.bytes) }

  static func activity(_ text: String) throws(AccountRefusal) -> UUID? {
    guard !text.isEmpty else { return nil }
    guard let words = words(text, 2) else { throw refusal }
    return UUID(high: words[0], low: words[1])
  }

  /// How many entries to answer.
  static func size(_ asked: Int32, atMost most: Int32 = 100) throws(AccountRefusal) -> Int {
    guard (0...most).contains(asked) else { throw AccountRefusal(field: "page_size", "1 to \(most), or 0 for 50") }
    return asked == 0 ? 50 : Int(asked)
  }

  private static func place(_ at: Moment, _ id: some Identifier) -> String {
    Base64URL.encode(bytes(UInt64(bitPattern: at.microseconds)) + bytes(id.high) + bytes(id.low))
  }

  private static func place<ID: Identifier>(_ text: String) throws(AccountRefusal) -> (at: Moment, id: ID)? {
    guard !text.isEmpty else { return nil }
    guard let words = words(text, 3) else { throw refusal }
    return (Moment(microseconds: Int64(bitPattern: words[0])), ID(high: words[1], low: words[2]))
  }

  private static var refusal: AccountRefusal { AccountRefusal(field: "page_token", "the next_page_token of the page before") }

  private static func bytes(_ word: UInt64) -> [UInt8] {
    stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
  }

  private static func words(_ text: String, _ count: Int) -> [UInt64]? {
    guard text.utf8.count <= 64, let bytes = Base64URL.decode(text), bytes.count == 8 * count else { return nil }
    return (0..<count).map { index in bytes[8 * index..<8 * index + 8].reduce(0) { $0 << 8 | UInt64($1) } }
  }
}
