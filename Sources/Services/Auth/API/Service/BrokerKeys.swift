internal import EventLoop
internal import GoogleProvider
public import ServiceKit

/// The broker's settings. Each is `PARLEY_AUTH_<KEY>`; the names of the original broker are aliases.
public enum BrokerKeys {
  // MARK: Whose tokens

  /// The client ids of the apps.
  public static let clientIDs = ConfigurationKey<[String]>(
    required: "oidc.clientIds", aliases: ["OIDC_CLIENT_IDS", "OIDC_CLIENT_ID"], check: { $0.isEmpty ? "at least one" : nil },
    "The OAuth client ids of the apps whose ID tokens are accepted, separated by commas.")
  /// The Workspace domain.
  public static let allowedDomain = ConfigurationKey<String>(
    "allowedHd", default: "", aliases: ["ALLOWED_HD"], "The Workspace domain that callers must belong to; empty admits everyone.")
  /// Whether whoami is for the domain alone.
  public static let gatesWhoAmI = ConfigurationKey<Bool>(
    "whoamiDomainGate", default: false, "Whether whoami, too, is for members of that domain only.")
  /// The leeway for times.
  public static let clockSkewSeconds = ConfigurationKey<Int>(
    "clockSkewSeconds", default: 60, in: 0...300, aliases: ["CLOCK_SKEW_SECONDS"],
    "The leeway for exp, iat and nbf of ID tokens, in seconds.")
  /// The issuer.
  public static let issuer = ConfigurationKey<String>(
    "issuer", default: GoogleIDTokenPolicy.googleIssuer, aliases: ["ISSUER"], check: { $0.isEmpty ? "not empty" : nil },
    "The issuer of ID tokens; without https:// it is accepted too.")

  // MARK: Their keys

  /// The key set.
  public static let keySetURL = ConfigurationKey<String?>(
    optional: "jwksUrl", aliases: ["JWKS_URL"], check: { $0.flatMap(CloudKeys.problem) },
    "The key set that ID tokens are signed with; by default Google's, or what the discovery document says.")
  /// The discovery document.
  public static let discoveryURL = ConfigurationKey<String?>(
    optional: "discoveryUrl", check: { $0.flatMap(CloudKeys.problem) },
    "An OpenID discovery document to take the key set's address from, where jwksUrl is not set.")
  /// The pause between forced fetches.
  public static let keyCooldown = ConfigurationKey<Duration>(
    "jwksCooldown", default: .seconds(30), in: .seconds(1) ... .seconds(600),
    "The least time between two fetches of the key set that tokens with unknown keys cause.")
  /// The age at which keys end.
  public static let keyMaximumAge = ConfigurationKey<Duration>(
    "jwksMaxAge", default: .seconds(86_400), in: .seconds(60) ... .seconds(86_400 * 7),
    "How old keys may become while they cannot be fetched.")
  /// The time for a fetch.
  public static let keyTimeout = ConfigurationKey<Duration>(
    "jwksTimeout", default: .seconds(5), in: .milliseconds(100) ... .seconds(60), "How long fetching the key set may take.")

  // MARK: What is minted

  /// The scopes.
  public static let tokenScope = ConfigurationKey<String>(
    "tokenScope", default: "https://www.googleapis.com/auth/cloud-platform", aliases: ["TOKEN_SCOPE"],
    check: { $0.split(separator: " ").isEmpty ? "at least one scope" : nil },
    "The OAuth scopes of the default token, separated by blanks.")
  /// The token endpoint.
  public static let tokenURI = ConfigurationKey<String?>(
    optional: "tokenUri", aliases: ["TOKEN_URI"], check: { $0.flatMap(CloudKeys.problem) },
    "Where tokens are asked for, instead of where the key file says.")
  /// The time for minting.
  public static let mintTimeout = ConfigurationKey<Duration>(
    "mintTimeout", default: .seconds(10), in: .milliseconds(100) ... .seconds(60),
    "How long minting may take, with its repetitions.")
  /// Whether tokens are shared.
  public static let cachesTokens = ConfigurationKey<Bool>(
    "mintCacheEnabled", default: true, aliases: ["MINT_CACHE_ENABLED"],
    "Whether callers share a cloud token; without it every exchange mints one.")
  /// What a shared token has left.
  public static let minimumRemaining = ConfigurationKey<Duration>(
    "mintCacheMinRemaining", default: .seconds(600), in: .zero ... .seconds(3600), aliases: ["MINT_CACHE_MIN_REMAINING"],
    "The time that a shared token must have left to be handed out.")

  // MARK: Limits

  /// Tokens a minute for a user.
  public static let userPerMinute = ConfigurationKey<Int>(
    "ratePerMin", default: 60, in: 1...1_000_000, aliases: ["RATE_PER_MIN"], "Requests a minute, per user.")
  /// A user's burst.
  public static let userBurst = ConfigurationKey<Int>(
    "rateBurst", default: 30, in: 1...1_000_000, aliases: ["RATE_BURST"], "Requests at once, per user.")
  /// Tokens a minute for an address.
  public static let addressPerMinute = ConfigurationKey<Int>(
    "ipRatePerMin", default: 120, in: 1...1_000_000, aliases: ["IP_RATE_PER_MIN"],
    "Requests a minute, per client address (IPv6: per /64).")
  /// An address's burst.
  public static let addressBurst = ConfigurationKey<Int>(
    "ipBurst", default: 60, in: 1...1_000_000, aliases: ["IP_BURST"], "Requests at once, per client address (IPv6: per /64).")
  /// When limits are forgotten.
  public static let cleanupMinutes = ConfigurationKey<Int>(
    "rateCleanupMins", default: 30, in: 2...10_080, aliases: ["RATE_CLEANUP_MINS"],
    "After how many minutes without a request a limit is forgotten; looked after twice in that time.")
  /// The salt.
  public static let subjectSalt = ConfigurationKey<String?>(
    optional: "subjectSalt", isSecret: true, check: { $0.map { $0.utf8.count < 16 } == true ? "of at least 16 bytes" : nil },
    "What users are hashed with in limits, log and audit; by default a salt that the migration made. The same in all copies.")

  // MARK: Standard keys with the original's names

  static let listen = ConfigurationKey<SocketAddress?>(
    "listen", default: SocketAddress(.ipv4([127, 0, 0, 1], port: AuthService.defaultPort)),
    aliases: [ConfigurationAlias("PORT") { "0.0.0.0:\($0)" }],
    "The address for gRPC and HTTP over clear-text HTTP/2 (h2c); port 0 lets the system choose. PORT=n is 0.0.0.0:n.")
  static let corsOrigins = StandardKeys.corsOrigins.aliased("CORS_ORIGIN")

  /// All of them, in the order of documentation.
  static let all: [any ConfigurationKeyDeclaration] = [
    clientIDs, allowedDomain, gatesWhoAmI, clockSkewSeconds, issuer, keySetURL, discoveryURL, keyCooldown, keyMaximumAge,
    keyTimeout, tokenScope, tokenURI, mintTimeout, cachesTokens, minimumRemaining, userPerMinute, userBurst, addressPerMinute,
    addressBurst, cleanupMinutes, subjectSalt, listen, corsOrigins,
  ]
}
