internal import AuthDomain
internal import JOSE

/// Receipts of deletions: `prd1_` and 43 characters of base64url.
///
/// A receipt follows from the deletion and the pepper, so whoever asks for the same deletion is told the same one, though only its hash is
/// kept; and nobody else can work it out.
struct DeletionReceipts: Sendable {
  static let prefix = "prd1_"

  private let pepper: [UInt8]

  init(pepper: [UInt8]) { self.pepper = pepper }

  func receipt(of work: AccountWorkID, of user: UserID) -> String {
    Self.prefix + Base64URL.encode(secret(of: work, of: user))
  }

  /// What a receipt is known by.
  func digest(of work: AccountWorkID, of user: UserID) -> AuthDomain.Digest {
    RefreshTokens.digest(secret(of: work, of: user))
  }

  /// What a text is known by; nil for everything that is no receipt, every proper prefix of one included.
  static func digest(_ text: String) -> AuthDomain.Digest? {
    guard text.hasPrefix(prefix), let secret = Base64URL.decode(String(text.dropFirst(prefix.count))), secret.count == 32 else {
      return nil
    }
    return RefreshTokens.digest(secret)
  }

  /// The word keeps it apart from all else that is made with the pepper.
  private func secret(of work: AccountWorkID, of user: UserID) -> [UInt8] {
    HMACSHA256.authenticationCode(for: Array("deletion\0\(user)/\(work)".utf8), key: pepper)
  }
}
