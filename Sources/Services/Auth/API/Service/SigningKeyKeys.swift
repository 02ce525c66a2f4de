internal import JOSE
public import ServiceKit

/// The settings of the service's own signing keys. Each is `PARLEY_AUTH_<KEY>`.
public enum SigningKeyKeys {
  /// The key-encryption keys.
  public static let keyEncryptionKey = ConfigurationKey<String>(
    required: "keyEncryptionKey", isSecret: true, check: sealingProblem,
    "What private keys are sealed with in the database: the base64 of 32 random bytes, or several as id:base64,… of which the first seals and all open."
  )
  /// `iss`.
  public static let issuer = StandardKeys.sessionIssuer
  /// `aud`.
  public static let audience = StandardKeys.sessionAudience
  /// How long a key signs.
  public static let period = ConfigurationKey<Duration>(
    "signingKeyPeriod", default: .seconds(30 * 86_400), in: .seconds(3600) ... .seconds(366 * 86_400),
    "How long a key signs access tokens before the next one does.")
  /// How long a key is published before it signs.
  public static let publishedAhead = ConfigurationKey<Duration>(
    "signingKeyPublishedAhead", default: .seconds(3600), in: .seconds(900) ... .seconds(7 * 86_400),
    "How long before its first use a signing key is published; at most half of signingKeyPeriod.")

  /// All of them, in the order of documentation.
  static let all: [any ConfigurationKeyDeclaration] = [keyEncryptionKey, issuer, audience, period, publishedAhead]

  @Sendable private static func sealingProblem(_ text: String) -> String? {
    do throws(SealingError) {
      _ = try SealingKeys(parsing: text)
      return nil
    } catch {
      return "such keys: \(error.detail)"
    }
  }

  /// What is wrong with them together.
  static func check(_ settings: Settings) -> [ConfigurationFinding] {
    settings[publishedAhead] * 2 <= settings[period]
      ? [] : [.error(publishedAhead, "at most half of signingKeyPeriod")]
  }
}
