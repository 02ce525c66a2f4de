public import Values

/// One line of the audit: who got which right until when, or was denied it. Never the token.
public struct IssuanceRecord: Sendable, Hashable {
  /// How it ended.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    /// A token was handed out.
    case issued
    /// The caller may not have one.
    case denied
    /// The cloud gave none.
    case failed
  }

  /// When.
  public var at: Instant
  /// To whom.
  public var subject: SubjectHash
  /// The client id that the caller's ID token was issued for: which app it was.
  public var audience: String
  /// The capability asked for.
  public var capability: String
  /// The service account that was impersonated; empty for the default token.
  public var account: String
  /// The scopes, separated by blanks; empty when no token was asked of the cloud.
  public var scope: String
  /// When the token runs out, if one was handed out and that is known.
  public var expiresAt: Instant?
  /// The client's address.
  public var address: String
  /// The request's id, as in the log.
  public var requestID: String
  /// How it ended.
  public var outcome: Outcome
  /// Why it was denied or failed, as in the log; empty when it was issued.
  public var reason: String

  /// A record.
  public init(
    at: Instant, subject: SubjectHash, audience: String, capability: String, account: String = "", scope: String = "",
    expiresAt: Instant? = nil,
    address: String, requestID: String, outcome: Outcome, reason: String = ""
  ) {
    self.at = at
    self.subject = subject
    self.audience = audience
    self.capability = capability
    self.account = account
    self.scope = scope
    self.expiresAt = expiresAt
    self.address = address
    self.requestID = requestID
    self.outcome = outcome
    self.reason = reason
  }
}
