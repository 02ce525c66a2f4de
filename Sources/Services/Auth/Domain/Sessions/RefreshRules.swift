/// How long sessions last, and how long two refreshes of one token count as a race.
public struct RefreshRules: Sendable, Hashable {
  /// How long a session lives without being refreshed.
  public var idleLifetime: Duration
  /// How long it lives at most.
  public var wholeLifetime: Duration
  /// How long after an exchange another attempt with the same token counts as a race, and not as a client that has lost the answer.
  ///
  /// Clients that share a token among processes give up a request after half of this, so that no answer arrives after the other
  /// one has been helped out.
  public var raceWindow: Duration

  /// The rules; the defaults are 30 days, 365 days and 10 seconds.
  public init(
    idleLifetime: Duration = .seconds(30 * 86_400), wholeLifetime: Duration = .seconds(365 * 86_400),
    raceWindow: Duration = .seconds(10)
  ) {
    self.idleLifetime = idleLifetime
    self.wholeLifetime = wholeLifetime
    self.raceWindow = raceWindow
  }
}
