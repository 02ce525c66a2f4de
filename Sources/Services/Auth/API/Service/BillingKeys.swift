public import ServiceKit

/// Billing's settings. Without ``apiKey`` there is no billing: its methods and paths are not served.
public enum BillingKeys {
  /// The key for RevenueCat.
  public static let apiKey = ConfigurationKey<String?>(
    optional: "revenuecat.apiKey", isSecret: true, aliases: ["REVENUECAT_API_KEY"],
    check: { $0.map { key in key.isEmpty || !key.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } } == true ? "without blanks" : nil },
    "The secret key for RevenueCat's first API; without it there is no billing.")
  /// What webhooks must show.
  public static let webhookSecret = ConfigurationKey<String?>(
    optional: "revenuecat.webhookSecret", isSecret: true, aliases: ["REVENUECAT_WEBHOOK_SECRET"],
    check: { $0.map { $0.utf8.count < 16 } == true ? "of at least 16 bytes" : nil },
    "The whole Authorization header of RevenueCat's webhooks, as typed in its dashboard; without it they get 500.")
  /// Where RevenueCat is.
  public static let address = ConfigurationKey<String>(
    "revenuecat.url", default: "https://api.revenuecat.com", check: { SafeURL.isSafe($0) ? nil : "an https:// address" },
    "Where RevenueCat's API is.")
  /// The entitlements that count.
  public static let entitlements = ConfigurationKey<[String]>(
    "revenuecat.entitlements", default: [],
    "The names of the entitlements that open the service, separated by commas; empty for any.")
  /// Whether what was bought in a sandbox counts.
  public static let countsSandbox = ConfigurationKey<Bool>(
    "revenuecat.sandbox", default: false,
    "Whether purchases of a store's sandbox, where nobody pays, open the service: for tests, and while a store reviews the app.")
  /// Questions a minute for everybody.
  public static let perMinute = ConfigurationKey<Int>(
    "revenuecat.perMin", default: 60, in: 1...1_000_000,
    "How often a minute RevenueCat is asked, for all people and by all copies together: it bears about one question a second.")
  /// The burst of questions for everybody.
  public static let burst = ConfigurationKey<Int>(
    "revenuecat.burst", default: 30, in: 1...1_000_000, "The same at once.")
  /// The time for a question that a call waits for.
  public static let checkTimeout = ConfigurationKey<Duration>(
    "revenuecat.checkTimeout", default: .seconds(2), in: .milliseconds(100) ... .seconds(30),
    "How long RevenueCat may take while a call waits to know whether a subscription runs.")
  /// The time for any other question.
  public static let timeout = ConfigurationKey<Duration>(
    "revenuecat.timeout", default: .seconds(10), in: .milliseconds(100) ... .seconds(60),
    "How long RevenueCat may take when a person asks for it, or in the background.")
  /// How long a yes is remembered.
  public static let memory = ConfigurationKey<Duration>(
    "entitlementMemory", default: .seconds(60), in: .zero ... .seconds(3600),
    "How long it may be remembered that a subscription runs: a refund takes as long to be noticed everywhere.")
  /// How long a no stands.
  public static let pause = ConfigurationKey<Duration>(
    "entitlementPause", default: .seconds(5), in: .zero ... .seconds(600),
    "How long RevenueCat is not asked again for a person of whom it has just said that there is no subscription, or had no answer; doubled each time, up to 15 minutes, and a minute without an answer."
  )
  /// Questions a minute for a person.
  public static let syncPerMinute = ConfigurationKey<Int>(
    "entitlementSync.perMin", default: 10, in: 1...1_000_000,
    "How often a minute a person may have RevenueCat asked (SyncEntitlement, LinkCustomer and the first app's paths).")
  /// A person's burst of questions.
  public static let syncBurst = ConfigurationKey<Int>(
    "entitlementSync.burst", default: 5, in: 1...1_000_000, "The same at once, per person.")
  /// Whether everybody is let in.
  public static let isBypassed = ConfigurationKey<Bool>(
    "entitlementBypass", default: false,
    "Development only: everybody counts as subscribed, and RevenueCat is not asked.")

  /// All of them, in the order of documentation.
  static let all: [any ConfigurationKeyDeclaration] = [
    apiKey, webhookSecret, address, entitlements, countsSandbox, perMinute, burst, checkTimeout, timeout, memory, pause,
    syncPerMinute, syncBurst,
    isBypassed,
  ]

  /// What an operator should know about them together.
  static func findings(_ settings: Settings) -> [ConfigurationFinding] {
    var findings: [ConfigurationFinding] = []
    if settings[isBypassed] {
      findings.append(.warning(isBypassed, "EVERYBODY COUNTS AS SUBSCRIBED: never where anybody pays"))
    }
    guard settings[apiKey] != nil else { return findings }
    if settings[webhookSecret] == nil { findings.append(.warning(webhookSecret, "not set: RevenueCat's webhooks get 500")) }
    if settings[countsSandbox] {
      findings.append(
        .warning(countsSandbox, "purchases of a store's sandbox open the service: anybody can make them, and nobody pays"))
    }
    if settings[entitlements].isEmpty {
      findings.append(.warning(entitlements, "not set: every entitlement of the RevenueCat project opens the service"))
    }
    return findings
  }
}
