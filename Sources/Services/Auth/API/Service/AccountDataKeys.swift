internal import EventLoop
public import ParleyProvider
public import ServiceKit

/// The settings of exports and deletions.
public enum AccountDataKeys {
  private static let day = Duration.seconds(86_400)

  /// The other services.
  public static let services = ConfigurationKey<[AccountDataServiceAddress]>(
    "accountData.services", default: [],
    check: { services in
      let names = Set(services.map(\.name))
      if names.contains(AuthService.name) { return "not auth, which always takes part" }
      return names.count < services.count ? "each name once" : nil
    },
    "The other services that keep something of people: notes=https://notes.internal:10000,…")
  /// The own certificate.
  public static let certificate = ConfigurationKey<ReadableFile?>(
    optional: "accountData.clientCertificate", "The PEM file with the certificate that this service shows to them.")
  /// Its private key.
  public static let key = ConfigurationKey<ReadableFile?>(
    optional: "accountData.clientKey", "The PEM file with that certificate's private key.")
  /// How old a sign-in may be.
  public static let stepUpAge = ConfigurationKey<Duration>(
    "stepUp.maxAge", default: .seconds(300), in: .seconds(60)...day,
    "How long ago a person may have shown a provider's token who asks for an export or the account's deletion.")
  /// How large an export may be.
  public static let exportLimit = ConfigurationKey<Int>(
    "export.maxBytes", default: 256 << 20, in: (1 << 10)...(1 << 40), "The most bytes of an export.")
  /// How long an export is kept.
  public static let exportRetention = ConfigurationKey<Duration>(
    "export.retention", default: day, in: .seconds(600)...day * 30, "How long an export can be downloaded.")
  /// How long the report of a deletion is kept.
  public static let receiptRetention = ConfigurationKey<Duration>(
    "deletion.receiptRetention", default: day * 90, in: day...day * 3650,
    "How long the report of a deletion can be asked for with its receipt.")
  /// When work is overdue.
  public static let overdueAfter = ConfigurationKey<Duration>(
    "accountWork.overdueAfter", default: .seconds(3600), in: .seconds(60)...day * 30,
    "After how long an export or a deletion that has not ended is counted by parley_account_work_overdue.")
  /// How long one call to another service may take.
  public static let answerTime = ConfigurationKey<Duration>(
    "accountData.timeout", default: .seconds(60), in: .milliseconds(100) ... .seconds(3600),
    "How long another service may take for its part of a deletion; for that of an export it is ten times as much.")

  /// All of them, in the order of documentation.
  static let all: [any ConfigurationKeyDeclaration] = [
    services, certificate, key, stepUpAge, exportLimit, exportRetention, receiptRetention, overdueAfter, answerTime,
  ]

  /// What is the matter with them together.
  static func findings(_ settings: Settings) -> [ConfigurationFinding] {
    var findings: [ConfigurationFinding] = []
    if (settings[certificate] == nil) != (settings[key] == nil) {
      findings.append(.error(certificate, "must be given together with accountData.clientKey"))
    }
    for service in settings[services] where !service.address.isSecure {
      findings.append(.warning(services, "\(service.name) is asked in clear text, and cannot know who asks"))
    }
    return findings
  }
}
