public import Values

/// Whether a person was seen of late: what is asked before anything that cannot be undone, or that hands out everything.
public struct StepUpRule: Sendable, Hashable {
  /// How long ago the person may have shown a provider's token.
  public var maximumAge: Duration

  /// A rule; five minutes unless said otherwise.
  public init(maximumAge: Duration = .seconds(300)) { self.maximumAge = maximumAge }

  /// Judges an access token.
  ///
  /// - Parameters:
  ///   - authenticatedAt: `auth_time`: when the person last showed a provider's token, in whole seconds since 1970.
  ///   - now: The time. To the second, as `auth_time` is: whoever was seen five minutes ago to the second gets in.
  /// - Throws: ``AccountRefusal`` with `stepUpRequired`, which says how old it may be.
  public func judge(authenticatedAt: Int64, at now: Instant) throws(AccountRefusal) {
    guard .seconds(now.seconds - authenticatedAt) <= maximumAge else {
      throw AccountRefusal(.stepUpRequired, hints: ["max_age_seconds": "\(maximumAge.components.seconds)"])
    }
  }
}
