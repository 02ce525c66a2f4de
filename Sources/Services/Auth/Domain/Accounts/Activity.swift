public import Values

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
    /// An operator has closed the account.
    case accountSuspended = "account_suspended"
    /// An operator has opened the account again.
    case accountReinstated = "account_reinstated"
    /// The person withdrew the app's access at the provider.
    case consentWithdrawn = "consent_withdrawn"
    /// The account at the provider is gone.
    case providerAccountDeleted = "provider_account_deleted"
    /// Mail to the relay's address is forwarded again.
    case emailForwardingResumed = "email_forwarding_resumed"
    /// Mail to the relay's address goes nowhere.
    case emailForwardingStopped = "email_forwarding_stopped"
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

  /// The ``actor`` who is the person.
  public static let person = "self"

  /// Whose account.
  public var user: UserID
  /// The app that the account belongs to.
  public var app: String
  /// When.
  public var at: Instant
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
  /// Who did it: ``person``, or the identity in the client certificate of an operator.
  public var actor: String
  /// An operator's reason, in words; not for the person.
  public var note: String

  /// An entry.
  public init(
    user: UserID, app: String, at: Instant, action: Action, outcome: Outcome = .done, reason: String = "",
    session: SessionID? = nil, address: String, requestID: String, actor: String = Activity.person, note: String = ""
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
    self.actor = actor
    self.note = note
  }
}
