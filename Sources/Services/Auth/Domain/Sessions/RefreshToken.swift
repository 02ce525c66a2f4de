internal import Values

/// A refresh token, read: `prt1_` and 70 characters of base64url, which are the session's identifier (16 bytes), the generation
/// (4 bytes, in network order) and a secret of 32 bytes.
///
/// The secret's first half is unpredictable; the second half is a seal that only the service can make for the first half, this session
/// and this generation. So a token that was ever issued is known from one that somebody made up, without keeping it, and what is made
/// up costs the database nothing.
public struct RefreshToken: Sendable, Hashable, CustomStringConvertible {
  /// What every token begins with: scanners of logs and repositories look for it.
  public static let prefix = "prt1_"
  /// Bytes of all parts together.
  public static let byteCount = 52
  /// Characters of a whole token.
  public static let characterCount = 75
  /// Bytes of either half of the secret.
  public static let halfByteCount = 16

  /// The session.
  public let session: SessionID
  /// How many tokens the session was given before it.
  public let generation: UInt32
  /// The secret, 32 bytes.
  public let secret: [UInt8]

  /// A token from its parts; the secret has 32 bytes.
  public init(session: SessionID, generation: UInt32, secret: [UInt8]) {
    precondition(secret.count == 2 * Self.halfByteCount, "a secret has 32 bytes")
    self.session = session
    self.generation = generation
    self.secret = secret
  }

  /// Reads a token; nil for everything that is not exactly one, every proper prefix included.
  ///
  /// - Parameters:
  ///   - text: What was shown.
  ///   - decode: Reads base64url, strictly: one spelling for each sequence of bytes.
  public init?(_ text: String, decode: (_ text: String) -> [UInt8]?) {
    guard text.utf8.count == Self.characterCount, text.hasPrefix(Self.prefix),
      let bytes = decode(String(text.dropFirst(Self.prefix.count))), bytes.count == Self.byteCount
    else { return nil }
    func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(
      session: SessionID(high: number(0..<8), low: number(8..<16)), generation: UInt32(number(16..<20)),
      secret: Array(bytes[20...]))
  }

  /// Writes what ``init(_:decode:)`` reads.
  public func text(encode: (_ bytes: [UInt8]) -> String) -> String {
    Self.prefix + encode(Self.head(session, generation) + secret)
  }

  /// The first half of the secret.
  public var key: [UInt8] { Array(secret.prefix(Self.halfByteCount)) }

  /// The second half of the secret.
  public var seal: [UInt8] { Array(secret.suffix(Self.halfByteCount)) }

  /// The 20 bytes of session and generation, as they stand in a token.
  public static func head(_ session: SessionID, _ generation: UInt32) -> [UInt8] {
    func bytes(_ number: UInt64, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * (count - 1 - $0))) }
    }
    return bytes(session.high, 8) + bytes(session.low, 8) + bytes(UInt64(generation), 4)
  }

  /// Session and generation, and nothing of the secret.
  public var description: String { "\(session)#\(generation)" }
}
