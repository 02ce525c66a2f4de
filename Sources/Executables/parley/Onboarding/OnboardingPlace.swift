import ArgumentParser
import ClientCore
import ParleyAPI
import RPC
import RPCClient

/// Where the onboarding service is, beside where people sign in.
struct OnboardingOptions: ParsableArguments {
  @OptionGroup var options: TargetOptions
  @Option(
    help: .init(
      "The onboarding service's address, where it is not the target's; else PARLEY_ONBOARDING_TARGET.", valueName: "host:port"))
  var onboarding: String?

  /// The service's address: as the options say, else as the settings do, else the target.
  func target(_ options: TargetOptions, _ local: LocalSettings) throws -> ChannelTarget {
    if let onboarding { return try TargetOptions.parsed(onboarding) }
    let named = local["PARLEY_ONBOARDING_TARGET"]
    // Whoever names a target means it; what `make run` has started counts only without one.
    let started = options.isEncrypted ? local["PARLEY_ONBOARDING_1_TLS"] : local["PARLEY_ONBOARDING_1_H2C"]
    let isNamed = options.target != nil || local.isSetOutside("PARLEY_TARGET")
    if let text = named ?? (isNamed ? nil : started) { return try TargetOptions.parsed(text) }
    return try options.channelTarget(local)
  }

  /// Runs `body` with a channel that calls the service in the name of the person who is signed in.
  func asPerson(_ body: @escaping @Sendable (SessionChannel, Connection) async throws -> Void) async throws {
    let local = try LocalSettings.current()
    let place = try SessionPlace(options, local)
    let (target, options) = (try target(options, local), options)
    try await Connection.call(options) { connection in
      let keeper = place.keeper(connection)
      try await connection.with(target, options) { channel in
        try await body(SessionChannel(channel, keeper: keeper), connection)
      }
    }
  }

  /// Runs `body` with a channel to the service, for methods that ask for nobody.
  func asAnybody(_ body: @escaping @Sendable (ClientChannel, Connection) async throws -> Void) async throws {
    let (target, options) = (try target(options, try .current()), options)
    try await Connection.call(options) { connection in
      try await connection.with(target, options) { channel in try await body(channel, connection) }
    }
  }

  /// Runs `body` with a channel that shows an operator's certificate; the connection is to where people are looked up.
  func asOperator(_ body: @escaping @Sendable (OnboardingAdminService.Client, Connection) async throws -> Void) async throws {
    let local = try LocalSettings.current()
    let shown = try options.asOperator(local)
    let target = try target(shown, local)
    try await Connection.call(shown) { connection in
      try await connection.with(target, shown) { channel in try await body(.init(channel), connection) }
    }
  }
}
