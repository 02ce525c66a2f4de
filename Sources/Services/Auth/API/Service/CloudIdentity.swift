internal import AuthDomain
internal import EventLoop
internal import Glibc
internal import GoogleProvider
internal import Logging
internal import OpenID
internal import ServiceKit
internal import Values

/// The broker's own identity at the cloud, and the accounts that it impersonates.
struct CloudIdentity: Sendable {
  /// How long tokens of a capability live: as short as streaming a recording takes, with room to fetch the next.
  static let capabilityLifetime = Duration.seconds(900)
  /// A token of a capability that is shared has at least so much left.
  static let capabilityRemaining = Duration.seconds(600)

  /// What the broker is known by.
  enum Source: Sendable {
    case metadata(MetadataServer)
    case federation(CredentialConfiguration)
    case keyFile(ServiceAccountKey)
  }

  let source: Source
  private let context: ServiceContext
  private let clock: ProviderClock

  init(_ context: ServiceContext, _ clock: ProviderClock) throws {
    let settings = context.settings
    if let json = settings[CloudKeys.credentials] {
      source = .federation(try CredentialConfiguration(json: json))
    } else if let json = settings[CloudKeys.serviceAccount] {
      source = .keyFile(try ServiceAccountKey(json: json))
    } else {
      source = .metadata(
        MetadataServer(
          host: settings[CloudKeys.metadataHost], timeout: settings[BrokerKeys.mintTimeout], over: context.outbound,
          clock: clock, log: context.log))
    }
    self.context = context
    self.clock = clock
  }

  /// The tokens that are handed out: of the own account, and of those that are impersonated.
  func tokens(now: @escaping @Sendable () -> Instant) -> GoogleAccessTokens {
    let settings = context.settings
    let loop = context.loops.loops[0]
    let own = ownTokens
    let shares = settings[BrokerKeys.cachesTokens]
    // Impersonating takes a token of its own for each request, whether or not what comes of it is shared.
    let caller = MintCache(own, minimumRemaining: .seconds(60), on: loop, clock: clock)
    var impersonated: [String: any CloudTokenSource] = [:]
    for capability in settings[CloudKeys.capabilities] {
      let source = Impersonation(
        of: capability.accountName, base: settings[CloudKeys.impersonationURL], lifetime: Self.capabilityLifetime, as: caller,
        timeout: settings[BrokerKeys.mintTimeout], over: context.outbound, clock: clock, log: context.log)
      impersonated[capability.name] =
        shares ? MintCache(source, minimumRemaining: Self.capabilityRemaining, pause: .zero, on: loop, clock: clock) : source
    }
    let shared = MintCache(own, minimumRemaining: settings[BrokerKeys.minimumRemaining], on: loop, clock: clock)
    return GoogleAccessTokens(own: shares ? shared : own, impersonated: impersonated, monotonic: clock.now, now: now)
  }

  private var ownTokens: any CloudTokenSource {
    let timeout = context.settings[BrokerKeys.mintTimeout]
    switch source {
    case .metadata(let server): return server
    case .keyFile(let key):
      return ServiceAccountMinter(
        key, tokenURI: context.settings[BrokerKeys.tokenURI], timeout: timeout, over: context.outbound, clock: clock,
        log: context.log)
    case .federation(let configuration):
      let pool = context.loops.blocking
      return FederatedIdentity(
        configuration, timeout: timeout, over: context.outbound, on: context.loops.loops[0], clock: clock, log: context.log
      ) { path in try await pool.run { try SmallFile.read(path) } }
    }
  }

  /// Refuses a capability whose account is the broker's own, where only the metadata server knows what that is: its tokens could
  /// do all that the broker can. What the settings say of it was checked before.
  func checkOwnAccount() async throws {
    guard case .metadata(let server) = source, !context.settings[CloudKeys.capabilities].isEmpty else { return }
    let own: ServiceAccountName
    do { own = try await server.accountName() } catch {
      throw ServiceFailure(.unavailable, "the metadata server does not say which account this machine has: \(error)")
    }
    guard let same = context.settings[CloudKeys.capabilities].first(where: { $0.accountName == own }) else { return }
    throw ServiceFailure(.configuration, "\(CloudKeys.capabilities.name): \(Self.ownAccountMessage(same.name))")
  }

  static func ownAccountMessage(_ name: String) -> String {
    "\(name) has the broker's own account: its tokens could do all that the broker can. Give it an account of its own"
  }
}

extension CloudIdentity {
  /// What an operator should know of these settings.
  static func findings(_ settings: Settings) -> [ConfigurationFinding] {
    sourceFindings(settings) + capabilityFindings(settings)
  }

  private static func sourceFindings(_ settings: Settings) -> [ConfigurationFinding] {
    let given: [any ConfigurationKeyDeclaration] =
      (settings[CloudKeys.usesMetadataServer] ? [CloudKeys.usesMetadataServer] : [])
      + (settings[CloudKeys.credentials] != nil ? [CloudKeys.credentials] : [])
      + (settings[CloudKeys.serviceAccount] != nil ? [CloudKeys.serviceAccount] : [])
    let choice = "exactly one of cloud.metadata, cloud.credentials and googleSaJson must be set"
    switch given.count {
    case 0: return [.error(CloudKeys.usesMetadataServer, "\(choice); none is")]
    case 1 where settings[CloudKeys.serviceAccount] != nil:
      return [
        .warning(
          CloudKeys.serviceAccount,
          "A KEY FILE IS IN USE. Whoever reads it can mint tokens from anywhere until it is revoked. It is for development; in production set cloud.metadata or cloud.credentials. Until then rotate it every 90 days"
        )
      ]
    case 1: return []
    default: return [.error(given[0], "\(choice); set are \(given.map(\.name).joined(separator: ", "))")]
    }
  }

  private static func capabilityFindings(_ settings: Settings) -> [ConfigurationFinding] {
    let capabilities = settings[CloudKeys.capabilities]
    var findings: [ConfigurationFinding] = []
    let own = ownAccount(settings)
    for capability in capabilities where capability.account == own {
      findings.append(.error(CloudKeys.capabilities, ownAccountMessage(capability.name)))
    }
    if settings[CloudKeys.usesMetadataServer], !capabilities.isEmpty {
      findings.append(
        .warning(
          CloudKeys.capabilities, "whether one has this machine's own account is known at the start only, which then fails"))
    }
    let names = Set(capabilities.map(\.name) + [CapabilityCatalogue.defaultName])
    let caps = settings[CloudKeys.capabilityIssuesPerDay]
    for cap in caps where !names.contains(cap.name) {
      findings.append(.error(CloudKeys.capabilityIssuesPerDay, "\(cap.name) is none of the capabilities"))
    }
    if Set(caps.map(\.name)).count < caps.count {
      findings.append(.error(CloudKeys.capabilityIssuesPerDay, "a capability is there twice"))
    }
    return findings
  }

  /// The broker's own account, where the settings say it.
  private static func ownAccount(_ settings: Settings) -> String? {
    if let json = settings[CloudKeys.serviceAccount], let key = try? ServiceAccountKey(json: json) {
      return key.clientEmail.lowercased()
    }
    if let json = settings[CloudKeys.credentials], let configuration = try? CredentialConfiguration(json: json) {
      return configuration.account?.text
    }
    return nil
  }
}

/// A file that is read whole.
enum SmallFile {
  /// Why a file was not read.
  struct ReadError: Error, CustomStringConvertible {
    let description: String
  }

  static let maximumSize = 1 << 20

  /// The bytes of the file. Blocks.
  static func read(_ path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ReadError(description: "\(path) cannot be opened") }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      guard count >= 0 else { throw ReadError(description: "\(path) cannot be read") }
      guard count > 0 else { return bytes }
      bytes += buffer[..<count]
      guard bytes.count <= maximumSize else { throw ReadError(description: "\(path) is too large") }
    }
  }
}
