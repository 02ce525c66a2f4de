/// What an app does when a session ends, by whatever cause, in this order: the provider's sign-out, then everything that was kept
/// for the person, then the beginning of the app.
public struct SignOutSteps: Sendable {
  /// Signs out of Google's or Apple's library.
  public var signOutOfProvider: @Sendable () async -> Void
  /// Clears what was kept for the person: ``TokenBrokerClient/clear()``, the app's own data.
  public var clearCaches: @Sendable () async -> Void
  /// Shows the app's beginning.
  public var showOnboarding: @Sendable () async -> Void

  /// Steps; each does nothing unless it is given.
  public init(
    signOutOfProvider: @escaping @Sendable () async -> Void = {}, clearCaches: @escaping @Sendable () async -> Void = {},
    showOnboarding: @escaping @Sendable () async -> Void = {}
  ) {
    self.signOutOfProvider = signOutOfProvider
    self.clearCaches = clearCaches
    self.showOnboarding = showOnboarding
  }
}
