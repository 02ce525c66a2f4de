/// Why a request gets no answer: one text and one reason code for the caller, a distinct word for the log.
public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of refusal. Texts and statuses are a contract with clients.
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// Too many requests from one address.
    case addressLimited
    /// No bearer token, or a header that is none.
    case missingAuthorization
    /// The token was judged and is not good.
    case invalidIDToken
    /// The caller's domain is not among those allowed.
    case wrongDomain
    /// The token names nobody.
    case noSubject
    /// Too many requests of one person.
    case userLimited
    /// The capability asked for is not configured.
    case unknownCapability
    /// An operator has stopped the capability.
    case capabilityStopped
    /// An operator has stopped the caller, or suspended the account.
    case callerStopped
    /// The person has had as many tokens as it may have in a day.
    case capReached
    /// Google gave no access token.
    case mintFailed
    /// The keys that tokens are judged by could not be had.
    case keysUnavailable
    /// Nobody could say whether the limit was reached.
    case limiterUnavailable
    /// The record of the issuance could not be written.
    case auditUnavailable
    /// The caller gave up.
    case cancelled
  }

  /// The limit that was reached, if that is why.
  public var limit: RateLimit?
  /// The kind.
  public let kind: Kind
  /// The distinct reason, for the log and the audit; nothing secret, nothing that the caller sent.
  public let detail: String
  /// How many seconds the caller should wait, where that is known.
  public let retryAfter: Int64?

  /// A refusal; `detail` is a word such as `expired` and defaults to the reason code in lower case.
  public init(_ kind: Kind, detail: String? = nil, retryAfter: Int64? = nil) {
    self.kind = kind
    self.detail = detail ?? kind.reason.lowercased()
    self.retryAfter = retryAfter
  }

  /// The reason code and the detail.
  public var description: String { "\(kind.reason) (\(detail))" }
}

extension Refusal.Kind {
  /// What the caller is told: the body over HTTP, the message over gRPC.
  public var text: String {
    switch self {
    case .addressLimited: "rate limit (ip)"
    case .missingAuthorization: "missing or invalid Authorization header"
    case .invalidIDToken: "invalid id token"
    case .wrongDomain: "forbidden: wrong domain"
    case .noSubject: "no subject"
    case .userLimited: "rate limit (user)"
    case .unknownCapability: "unknown capability"
    case .capabilityStopped: "capability stopped"
    case .callerStopped: "caller stopped"
    case .capReached: "daily cap reached"
    case .mintFailed: "token mint failed"
    case .keysUnavailable: "keys unavailable"
    case .limiterUnavailable: "rate limiter unavailable"
    case .auditUnavailable: "audit unavailable"
    case .cancelled: "cancelled"
    }
  }

  /// The reason code for programs: the names of `parley.broker.v1.ErrorReason` without their prefix.
  public var reason: String {
    switch self {
    case .addressLimited: "RATE_LIMITED_IP"
    case .missingAuthorization: "MISSING_AUTHORIZATION"
    case .invalidIDToken: "INVALID_ID_TOKEN"
    case .wrongDomain: "WRONG_DOMAIN"
    case .noSubject: "NO_SUBJECT"
    case .userLimited: "RATE_LIMITED_USER"
    case .unknownCapability: "UNKNOWN_CAPABILITY"
    case .capabilityStopped: "CAPABILITY_STOPPED"
    case .callerStopped: "CALLER_STOPPED"
    case .capReached: "CAP_REACHED"
    case .mintFailed: "MINT_FAILED"
    case .keysUnavailable: "KEYS_UNAVAILABLE"
    case .limiterUnavailable: "LIMITER_UNAVAILABLE"
    case .auditUnavailable: "AUDIT_UNAVAILABLE"
    case .cancelled: "CANCELLED"
    }
  }

  /// Whether it goes into the audit: what a known caller was denied, or what failed for one. Refusals by a limiter do not:
  /// whoever floods the service would fill the table. A day's cap puts its own first refusal on record.
  public var isAudited: Bool {
    switch self {
    case .wrongDomain, .unknownCapability, .capabilityStopped, .callerStopped, .mintFailed: true
    default: false
    }
  }
}
