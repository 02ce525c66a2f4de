internal import EventLoop
public import ServiceKit

/// The settings of sign-in and sessions.
public enum AccountKeys {
  private static let day = Duration.seconds(86_400)

  /// How long a session lives without being refreshed.
  public static let idleLifetime = ConfigurationKey<Duration>(
    "session.idleLifetime", default: day * 30, in: .seconds(600)...day * 365,
    "How long a session lives without being refreshed.")
  /// How long it lives at most.
  public static let wholeLifetime = ConfigurationKey<Duration>(
    "session.wholeLifetime", default: day * 365, in: .seconds(600)...day * 3650,
    "How long a session lives at most; then the person signs in again.")
  /// The race window.
  public static let raceWindow = ConfigurationKey<Duration>(
    "session.raceWindow", default: .seconds(10), in: .seconds(2) ... .seconds(60),
    "How long two refreshes of one token count as a race of the app with itself. Apps give a refresh up after half of it.")
  /// When ended sessions are forgotten.
  public static let endedRetention = ConfigurationKey<Duration>(
    "session.endedRetention", default: day * 30, in: .seconds(60)...day * 365,
    "How long after its end a session is kept, so that its app can be told why it ended.")
  /// How often other services hear of ended sessions.
  public static let revocationInterval = ConfigurationKey<Duration>(
    "session.revocationInterval", default: .milliseconds(500), in: .milliseconds(50) ... .seconds(1),
    "How often those who watch for ended sessions are told, be it that there are none.")
  /// How long refresh tokens are made with the same pepper.
  public static let pepperPeriod = ConfigurationKey<Duration>(
    "session.pepperPeriod", default: .seconds(90 * 86_400), in: .seconds(3600) ... .seconds(366 * 86_400),
    "How long refresh tokens are made with the same pepper. The one before is known for session.idleLifetime more.")
  /// How often what has run out is removed.
  public static let sweepInterval = ConfigurationKey<Duration>(
    "session.sweepInterval", default: .seconds(60), in: .milliseconds(100) ... .seconds(3600),
    "How often nonces, exchanged tokens, revocations and sessions that have run out are removed.")

  /// Sign-ins a minute for an address.
  public static let signInPerMinute = ConfigurationKey<Int>(
    "signIn.perMin", default: 60, in: 1...1_000_000, "Nonces and sign-ins a minute, per client address (IPv6: per /64).")
  /// An address's burst of sign-ins.
  public static let signInBurst = ConfigurationKey<Int>(
    "signIn.burst", default: 40, in: 1...1_000_000, "Nonces and sign-ins at once, per client address.")
  /// Refreshes a minute for an address.
  public static let refreshAddressPerMinute = ConfigurationKey<Int>(
    "refresh.ipPerMin", default: 600, in: 1...1_000_000, "Refreshes a minute, per client address (IPv6: per /64).")
  /// An address's burst of refreshes.
  public static let refreshAddressBurst = ConfigurationKey<Int>(
    "refresh.ipBurst", default: 300, in: 1...1_000_000, "Refreshes at once, per client address.")
  /// Refreshes a minute for a session.
  public static let refreshPerMinute = ConfigurationKey<Int>(
    "refresh.perMin", default: 30, in: 1...1_000_000, "Refreshes a minute, per session.")
  /// A session's burst.
  public static let refreshBurst = ConfigurationKey<Int>(
    "refresh.burst", default: 30, in: 1...1_000_000, "Refreshes at once, per session.")

  /// All of them, in the order of documentation.
  static let all: [any ConfigurationKeyDeclaration] = [
    idleLifetime, wholeLifetime, raceWindow, endedRetention, revocationInterval, pepperPeriod, sweepInterval, signInPerMinute,
    signInBurst,
    refreshAddressPerMinute, refreshAddressBurst, refreshPerMinute, refreshBurst,
  ]

  /// What is the matter with them together.
  static func findings(_ settings: Settings) -> [ConfigurationFinding] {
    settings[idleLifetime] <= settings[wholeLifetime]
      ? [] : [.warning(idleLifetime, "longer than session.wholeLifetime, which ends sessions before")]
  }
}
