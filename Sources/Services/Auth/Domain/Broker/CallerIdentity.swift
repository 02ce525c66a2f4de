/// Who calls, as a verified ID token says.
public struct CallerIdentity: Sendable, Hashable {
  /// Google's identifier of the account; empty when the token names none.
  public var subject: String
  /// The e-mail address.
  public var email: String?
  /// Whether Google has verified the address. Evidence, not a gate.
  public var emailIsVerified: Bool?
  /// The person's full name.
  public var name: String?
  /// The address of the person's picture.
  public var picture: String?
  /// The Workspace domain of the account.
  public var hostedDomain: String?
  /// Who issued the token.
  public var issuer: String
  /// Which of the allowed client ids the token was issued for.
  public var audience: String
  /// When the token runs out, in seconds since 1970.
  public var expiry: Int64

  /// An identity; optional texts that are empty count as absent.
  public init(
    subject: String, email: String? = nil, emailIsVerified: Bool? = nil, name: String? = nil, picture: String? = nil,
    hostedDomain: String? = nil, issuer: String, audience: String, expiry: Int64
  ) {
    self.subject = subject
    self.email = email.flatMap(Self.unlessEmpty)
    self.emailIsVerified = emailIsVerified
    self.name = name.flatMap(Self.unlessEmpty)
    self.picture = picture.flatMap(Self.unlessEmpty)
    self.hostedDomain = hostedDomain.flatMap(Self.unlessEmpty)
    self.issuer = issuer
    self.audience = audience
    self.expiry = expiry
  }

  private static func unlessEmpty(_ text: String) -> String? { text.isEmpty ? nil : text }
}

/// What stands for a person in limits, logs and the audit: a salted hash of the subject, 32 bytes.
public struct SubjectHash: Sendable, Hashable, CustomStringConvertible {
  /// The hash.
  public let bytes: [UInt8]

  /// Wraps a hash.
  public init(bytes: [UInt8]) { self.bytes = bytes }

  /// Reads what ``description`` writes, 32 hexadecimal digits in lower case; nil for anything else.
  public init?(_ text: String) {
    let digits = text.utf8.map { (0x30...0x39).contains($0) ? $0 - 0x30 : (0x61...0x66).contains($0) ? $0 - 0x57 : 0xff }
    guard digits.count == 32, !digits.contains(0xff) else { return nil }
    bytes = stride(from: 0, to: 32, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  /// The first 16 bytes in hexadecimal: enough to tell people apart.
  public var description: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
