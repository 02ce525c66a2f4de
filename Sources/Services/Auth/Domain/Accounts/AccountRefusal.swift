/// Why a call about sign-in, sessions or the account gets no answer: one text and one reason code for the caller, a distinct word for
/// the log.
public struct AccountRefusal: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of refusal: the names of `parley.auth.v1.ErrorReason`.
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// There is no app of this name.
    case unknownApp
    /// The app does not let people sign in with this provider.
    case providerNotOffered
    /// The provider's token was judged and is not good.
    case invalidIDToken
    /// The keys that the token is judged by could not be had.
    case keysUnavailable
    /// The nonce was not issued here for this app and provider, has served, or has run out.
    case nonceUnknown
    /// The token does not carry the nonce.
    case nonceMissing
    /// The token carries another nonce.
    case nonceMismatch
    /// The token carries the nonce in the other form.
    case nonceForm
    /// The token has been exchanged before.
    case idTokenReplayed
    /// The account is suspended by an operator.
    case accountSuspended
    /// The refresh token is none of ours, or not intact.
    case invalidRefreshToken
    /// Another request has just exchanged the refresh token.
    case refreshRaced
    /// The refresh token had been used before.
    case refreshReused
    /// The session was not refreshed in time.
    case sessionExpired
    /// The person signed out.
    case sessionSignedOut
    /// The person ended the session from another device.
    case sessionRevoked
    /// An operator ended the session.
    case sessionRevokedByOperator
    /// The account is deleted.
    case accountDeleted
    /// The person withdrew the app's access at the provider.
    case consentRevoked
    /// The caller has no such session.
    case sessionNotFound
    /// A field of the request is missing or out of its bounds.
    case invalidArgument
    /// Too many calls from one address.
    case addressLimited
    /// Too many calls for one session or person.
    case userLimited
    /// Nobody could say whether a limit was reached.
    case limiterUnavailable
    /// There is no such account.
    case userNotFound
    /// There is no key to sign access tokens with.
    case signingUnavailable
    /// The person has to show a provider's token once more.
    case stepUpRequired
    /// The account is being deleted.
    case accountDeleting
    /// The provider's token is somebody else's than the account's.
    case identityMismatch
    /// The caller has no such export or deletion.
    case workNotFound
    /// The export is not there, not yet or not any more.
    case exportNotAvailable
    /// There is no deletion with this receipt.
    case receiptUnknown
    /// The caller gave up.
    case cancelled
  }

  /// The limit that was reached, if that is why.
  public var limit: RateLimit?
  /// The kind.
  public let kind: Kind
  /// The distinct reason, for the log; nothing secret, nothing that the caller sent.
  public let detail: String
  /// How long the caller should wait, where that is known.
  public let retryAfter: Duration?
  /// The wrong field of the request and what is wrong with it.
  public let field: Field?
  /// What a program can make use of, by name.
  public let hints: [String: String]

  /// A field of a request.
  public struct Field: Sendable, Hashable {
    /// Its path: `device.name`.
    public let name: String
    /// What it must be.
    public let description: String
  }

  /// A refusal; `detail` is a word such as `expired` and defaults to the reason code in lower case.
  public init(_ kind: Kind, detail: String? = nil, retryAfter: Duration? = nil, hints: [String: String] = [:]) {
    self.kind = kind
    self.detail = detail ?? kind.reason.lowercased()
    self.retryAfter = retryAfter
    self.hints = hints
    field = nil
  }

  /// A field that is missing or out of its bounds.
  public init(field name: String, _ description: String) {
    kind = .invalidArgument
    detail = name
    retryAfter = nil
    hints = [:]
    field = Field(name: name, description: description)
  }

  /// The reason code and the detail.
  public var description: String { "\(kind.reason) (\(detail))" }
}

extension AccountRefusal.Kind {
  /// The reason code for programs: the names of `parley.auth.v1.ErrorReason` without their prefix.
  public var reason: String { told.reason }

  /// What the caller is told.
  public var text: String { told.text }

  private var told: (reason: String, text: String) {
    switch self {
    case .unknownApp: ("UNKNOWN_APP", "unknown app")
    case .providerNotOffered: ("PROVIDER_NOT_OFFERED", "the app does not offer this provider")
    case .invalidIDToken: ("INVALID_ID_TOKEN", "invalid id token")
    case .keysUnavailable: ("KEYS_UNAVAILABLE", "keys unavailable")
    case .nonceUnknown: ("NONCE_UNKNOWN", "the nonce was not issued, has served or has run out: begin again")
    case .nonceMissing: ("NONCE_MISSING", "the id token carries no nonce")
    case .nonceMismatch: ("NONCE_MISMATCH", "the id token carries another nonce")
    case .nonceForm: ("NONCE_FORM", "the id token carries the nonce in the other form")
    case .idTokenReplayed: ("ID_TOKEN_REPLAYED", "the id token has been exchanged before")
    case .accountSuspended: ("ACCOUNT_SUSPENDED", "the account is suspended")
    case .invalidRefreshToken: ("INVALID_REFRESH_TOKEN", "invalid refresh token")
    case .refreshRaced: ("REFRESH_RACED", "another request has just exchanged this token: use what it got")
    case .refreshReused: ("REFRESH_REUSED", "the refresh token had been used before: the session has ended")
    case .sessionExpired: ("SESSION_EXPIRED", "the session has expired")
    case .sessionSignedOut: ("SESSION_SIGNED_OUT", "the session was signed out")
    case .sessionRevoked: ("SESSION_REVOKED", "the session was ended from another device")
    case .sessionRevokedByOperator: ("SESSION_REVOKED_BY_OPERATOR", "the session was ended by an operator")
    case .accountDeleted: ("ACCOUNT_DELETED", "the account is deleted")
    case .consentRevoked: ("CONSENT_REVOKED", "the provider says that access was withdrawn")
    case .sessionNotFound: ("SESSION_NOT_FOUND", "no such session")
    case .invalidArgument: ("INVALID_ARGUMENT", "invalid argument")
    case .addressLimited: ("RATE_LIMITED_IP", "rate limit (ip)")
    case .userLimited: ("RATE_LIMITED_USER", "rate limit (user)")
    case .limiterUnavailable: ("LIMITER_UNAVAILABLE", "rate limiter unavailable")
    case .userNotFound: ("USER_NOT_FOUND", "no such account")
    case .signingUnavailable: ("KEYS_UNAVAILABLE", "no key to sign with")
    case .stepUpRequired: ("STEP_UP_REQUIRED", "show a provider's token once more: Reauthenticate, or sign in again")
    case .accountDeleting: ("ACCOUNT_DELETING", "the account is being deleted")
    case .identityMismatch: ("IDENTITY_MISMATCH", "the id token is somebody else's")
    case .workNotFound: ("ACCOUNT_WORK_NOT_FOUND", "no such export or deletion")
    case .exportNotAvailable: ("EXPORT_NOT_AVAILABLE", "the export is not there: GetAccountWork says why")
    case .receiptUnknown: ("RECEIPT_UNKNOWN", "no deletion has this receipt")
    case .cancelled: ("CANCELLED", "cancelled")
    }
  }
}
