internal import AuthDomain
internal import EventLoop
internal import GoogleProvider
public import ServiceKit

/// Where the broker's cloud tokens come from, and what people may have of them.
public enum CloudKeys {
  // MARK: The broker's own identity: exactly one of three

  /// The metadata server.
  public static let usesMetadataServer = ConfigurationKey<Bool>(
    "cloud.metadata", default: false,
    "Whether tokens are those of the account that this machine runs as (Compute Engine, Cloud Run, GKE).")
  /// The credential configuration.
  public static let credentials = ConfigurationKey<String?>(
    optional: "cloud.credentials", isSecret: true, check: { $0.flatMap(credentialsProblem) },
    "A credential configuration of type external_account, for workload identity federation (its text; …_FILE takes a path).")
  /// The key file.
  public static let serviceAccount = ConfigurationKey<String?>(
    optional: "googleSaJson", isSecret: true, aliases: ["GOOGLE_SA_JSON"], check: { $0.flatMap(serviceAccountProblem) },
    "The key file of a service account, where there is no workload identity (its text; …_FILE takes a path).")
  /// Where the metadata server is.
  public static let metadataHost = ConfigurationKey<String>(
    "cloud.metadataHost", default: MetadataServer.defaultHost, aliases: ["GCE_METADATA_HOST"],
    check: { MetadataServer.isHost($0) ? nil : "the name or address of a metadata server, with a port where it is not 80" },
    "Where the metadata server is.")

  // MARK: Capabilities

  /// The capabilities.
  public static let capabilities = ConfigurationKey<[CapabilityAccount]>(
    "capabilities", default: [], check: capabilitiesProblem,
    "What callers can ask for by name, each with the service account that is impersonated for it: speech=a@p.iam.gserviceaccount.com,…"
  )
  /// Where accounts are impersonated.
  public static let impersonationURL = ConfigurationKey<String>(
    "cloud.impersonationUrl", default: Impersonation.defaultBase, check: problem,
    "Where accounts are impersonated: scheme, host and port.")
  /// The cap for everybody.
  public static let issuesPerDay = ConfigurationKey<Int>(
    "issuesPerDay", default: 1000, in: 0...1_000_000,
    "How many tokens of one capability a user may have on a day (UTC), shared ones included; 0 is any number.")
  /// Caps of some capabilities.
  public static let capabilityIssuesPerDay = ConfigurationKey<[CapabilityCap]>(
    "capabilityIssuesPerDay", default: [],
    "The same for single capabilities: speech=200,default=0. The token of callers that name none is called default.")

  static let all: [any ConfigurationKeyDeclaration] = [
    usesMetadataServer, credentials, serviceAccount, metadataHost, capabilities, impersonationURL, issuesPerDay,
    capabilityIssuesPerDay,
  ]

  // MARK: Checks

  static func problem(_ url: String) -> String? {
    SafeURL.isSafe(url) ? nil : "an https:// address"
  }

  @Sendable private static func serviceAccountProblem(_ json: String) -> String? {
    do throws(ServiceAccountKeyError) {
      _ = try ServiceAccountKey(json: json)
      return nil
    } catch {
      return "the key file of a service account: \(error)"
    }
  }

  @Sendable private static func credentialsProblem(_ json: String) -> String? {
    do throws(CredentialConfigurationError) {
      _ = try CredentialConfiguration(json: json)
      return nil
    } catch {
      return "a credential configuration of type external_account: \(error)"
    }
  }

  @Sendable private static func capabilitiesProblem(_ list: [CapabilityAccount]) -> String? {
    if Set(list.map(\.name)).count < list.count { return "each name once" }
    // Two capabilities of one account could do the same, whatever they are called.
    return Set(list.map(\.account)).count < list.count ? "each with an account of its own" : nil
  }
}

/// A capability and the account that is impersonated for it: `speech=speech@project.iam.gserviceaccount.com`.
public struct CapabilityAccount: ConfigurationValue, Hashable {
  /// The capability's name.
  public let name: String
  /// The account's name.
  public var account: String { accountName.text }
  let accountName: ServiceAccountName

  /// What a text must be to be read.
  public static var expectation: String {
    "a name (a-z, digits, hyphens, but not default), an equals sign and a service account's address"
  }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    let parts = configurationText.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, Capability.isName(String(parts[0])), let account = ServiceAccountName(String(parts[1])) else {
      return nil
    }
    name = String(parts[0])
    accountName = account
  }

  /// The value as it would be written.
  public var configurationText: String { "\(name)=\(account)" }
}

/// A capability and how many of its tokens a user may have on a day: `speech=200`.
public struct CapabilityCap: ConfigurationValue, Hashable {
  /// The capability's name, or `default`.
  public let name: String
  /// How many; 0 for any number.
  public let perDay: Int

  /// What a text must be to be read.
  public static var expectation: String { "a capability's name or default, an equals sign and a number from 0 to 1000000" }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    let parts = configurationText.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, parts[0] == CapabilityCatalogue.defaultName || Capability.isName(parts[0]),
      let number = Int(parts[1]),
      (0...1_000_000).contains(number)
    else { return nil }
    (name, perDay) = (parts[0], number)
  }

  /// The value as it would be written.
  public var configurationText: String { "\(name)=\(perDay)" }
}
