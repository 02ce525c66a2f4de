internal import AuthDomain
internal import JOSE

/// Receipts of deletions: `prd1_` and 43 characters of base64url.
///
/// A receipt follows from the deletion and the pepper, so whoever asks for the same deletion is told the same one, though only its hash is
/// kept; and nobody else can work it out.
struct DeletionReceipts: Sendable {
  static let prefix = "prd1_"

  private let pepper: RefreshPepper

  init(pepper: RefreshPepper) { self.pepper = pepper }

  /// The receipt of a deletion: the one that is known by its digest. It may have been made when another pepper was in use.
  ///
  /// - Parameter isKnown: Whether a digest is a receipt's.
  func receipt(
    of work: AccountWorkID, of user: UserID, _ isKnown: (AuthDomain.Digest) async throws -> Bool
  ) async throws -> String {
    for pepper in pepper.all.dropLast() {
      let secret = Self.secret(of: work, of: user, pepper)
      if try await isKnown(RefreshTokens.digest(secret)) { return Self.prefix + Base64URL.encode(secret) }
    }
    return Self.prefix + Base64URL.encode(Self.secret(of: work, of: user, pepper.all[pepper.all.count - 1]))
  }

  /// What a new receipt is known by.
  func digest(of work: AccountWorkID, of user: UserID) -> AuthDomain.Digest {
    RefreshTokens.digest(Self.secret(of: work, of: user, pepper.active))
  }

  /// What a text is known by; nil for everything that is no receipt, every proper prefix of one included.
  static func digest(_ text: String) -> AuthDomain.Digest? {
    guard text.hasPrefix(prefix), let secret = Base64URL.decode(String(text.dropFirst(prefix.count))), secret.count == 32 else {
      return nil
    }
    return RefreshTokens.digest(secret)
  }

  /// The word keeps it apart from all else that is made with the pepper.
  private static func secret(of work: AccountWorkID, of user: UserID, _ pepper: [UInt8]) -> [UInt8] {
    HMACSHA256.authenticationCode(for: Array("deletion\0\(user)/\(work)".utf8), key: pepper)
  }
}
