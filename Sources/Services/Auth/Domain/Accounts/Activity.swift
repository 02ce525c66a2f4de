/// Something that was done with an account, for the audit and for the person to see. Never a token.
public struct Activity: Sendable, Hashable {
  /// What was done.
  public enum Action: String, Sendable, Hashable, CaseIterable {
    /// A provider's token was exchanged for a session.
    case signedIn = "signed_in"
    /// A refresh token was shown that must not be.
    case refreshRefused = "refresh_refused"
    /// A session has ended.
    case sessionEnded = "session_ended"
    /// The profile was changed.
    case profileChanged = "profile_changed"
    /// The person showed a provider's token once more.
    case reauthenticated
    /// An export was asked for.
    case exportRequested = "export_requested"
    /// An export was handed out to its end.
    case exportDownloaded = "export_downloaded"
    /// The account's deletion was asked for.
    case deletionRequested = "deletion_requested"
  }

  /// Whether it was done.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    /// It was done.
    case done
    /// It was refused.
    case refused
  }

  /// Whose account.
  public var user: UserID
  /// The app that the account belongs to.
  public var app: String
  /// When.
  public var at: Moment
  /// What, by the name in ``Action`` or one that another part of the service gives.
  public var action: String
  /// Whether it was done.
  public var outcome: Outcome
  /// Why, as a reason code; empty when nothing was out of the ordinary.
  public var reason: String
  /// The session that it concerns.
  public var session: SessionID?
  /// The client's address.
  public var address: String
  /// The request's id, as in the log.
  public var requestID: String

  /// An entry.
  public init(
    user: UserID, app: String, at: Moment, action: Action, outcome: Outcome = .done, reason: String = "",
    session: SessionID? = nil, address: String, requestID: String
  ) {
    self.user = user
    self.app = app
    self.at = at
    self.action = action.rawValue
    self.outcome = outcome
    self.reason = reason
    self.session = session
    self.address = address
    self.requestID = requestID
  }
}
