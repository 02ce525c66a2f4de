public import ServiceKit

/// The settings of a service whose callers have sessions: how it asks the auth service.
public enum AuthServiceKeys {
  /// The auth service.
  public static let address = ConfigurationKey<ServiceAddress?>(
    optional: "authAddress",
    "Where the auth service answers gRPC: https://host:port, or http://… in clear text. Without it nobody has a session.")
  /// Its key set.
  public static let keySetURL = ConfigurationKey<String?>(
    optional: "jwksUrl", check: { url in url.map { $0.hasPrefix("https://") ? nil : "an https:// address" } ?? nil },
    "The key set that access tokens are signed with; by default /.well-known/jwks.json at authAddress, which is then https.")
  /// `iss`.
  public static let issuer = StandardKeys.sessionIssuer
  /// `aud`.
  public static let audience = StandardKeys.sessionAudience
  /// The leeway for times.
  public static let leeway = ConfigurationKey<Duration>(
    "sessionLeeway", default: .seconds(60), in: .zero ... .seconds(300), "The leeway for exp and iat of access tokens.")
  /// The own certificate.
  public static let clientCertificate = ConfigurationKey<ReadableFile?>(
    optional: "auth.clientCertificate", "The PEM file with the certificate that this service shows to the auth service.")
  /// Its private key.
  public static let clientKey = ConfigurationKey<ReadableFile?>(
    optional: "auth.clientKey", "The PEM file with that certificate's private key.")

  /// All of them, in the order of documentation.
  public static let all: [any ConfigurationKeyDeclaration] = [
    address, keySetURL, issuer, audience, leeway, clientCertificate, clientKey,
  ]

  /// What is wrong with them together.
  public static func check(_ settings: Settings) -> [ConfigurationFinding] {
    guard let address = settings[address] else { return [] }
    var findings: [ConfigurationFinding] = []
    if settings[keySetURL] == nil, !address.isSecure {
      findings.append(.error(keySetURL, "must be set where authAddress is not https"))
    }
    if (settings[clientCertificate] == nil) != (settings[clientKey] == nil) {
      findings.append(.error(clientCertificate, "must be given together with auth.clientKey"))
    }
    return findings
  }
}
