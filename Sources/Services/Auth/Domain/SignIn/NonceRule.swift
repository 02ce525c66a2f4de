/// Whether a provider's token was made for the sign-in that shows it.
///
/// The nonce was issued here for one sign-in; whether it still serves is judged by the store, in the sign-in's transaction.
public struct NonceRule: Sendable, Hashable {
  /// Bytes of a nonce.
  public static let byteCount = 32
  /// Characters of its text, base64url.
  public static let characterCount = 43

  /// The form that the app uses with this provider.
  public var form: NonceForm

  /// A rule.
  public init(_ form: NonceForm) { self.form = form }

  /// The text to hand to the provider.
  ///
  /// - Parameters:
  ///   - nonce: As it was issued.
  ///   - hashed: Its SHA-256 in hexadecimal.
  public func providerText(_ nonce: String, hashed: String) -> String { form == .raw ? nonce : hashed }

  /// Judges a token's `nonce` claim.
  ///
  /// - Parameters:
  ///   - identity: What the token says.
  ///   - nonce: What the caller shows, as it was issued.
  ///   - hashed: Its SHA-256 in hexadecimal.
  /// - Throws: ``AccountRefusal``: missing (unless the platform could not carry one), in the other form, or another one.
  public func judge(_ identity: VerifiedIdentity, nonce: String, hashed: String) throws(AccountRefusal) {
    guard let claim = identity.nonce, !claim.isEmpty else {
      guard identity.supportsNonce else { return }
      throw AccountRefusal(.nonceMissing)
    }
    let (right, other) = form == .raw ? (nonce, hashed) : (hashed, nonce)
    if claim == right { return }
    if claim == other { throw AccountRefusal(.nonceForm, detail: form == .raw ? "raw_expected" : "sha256_expected") }
    throw AccountRefusal(.nonceMismatch)
  }
}
