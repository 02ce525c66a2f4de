package import Outbound

/// Why a provider gave no answer that can be used. Nothing in it is secret, and nothing of what was asked is in it.
public struct ProviderError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure. Those that every provider has stand here; a provider adds its own beside its client.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name in logs and metrics.
    public let description: String
    /// Whether the same request will fail again, unless the server says otherwise.
    public let isPermanent: Bool

    /// A kind of failure.
    ///
    /// - Parameters:
    ///   - description: The name in logs and metrics.
    ///   - isPermanent: Whether the same request will fail again.
    public init(_ description: String, isPermanent: Bool) {
      self.description = description
      self.isPermanent = isPermanent
    }

    /// The request has no form that the server takes.
    public static let invalidRequest = Code("invalid_request", isPermanent: true)
    /// The key is wrong.
    public static let unauthorized = Code("unauthorized", isPermanent: true)
    /// The key may not do this, or not from here.
    public static let forbidden = Code("forbidden", isPermanent: true)
    /// What is sent is larger, or more, than the server takes.
    public static let tooLarge = Code("too_large", isPermanent: true)
    /// The account has nothing left to pay with. Waiting does not help.
    public static let quotaExceeded = Code("quota_exceeded", isPermanent: true)
    /// Refused with some other status below 500.
    public static let refused = Code("refused", isPermanent: true)
    /// The URL or a header is none that may be sent; nothing was.
    public static let misconfigured = Code("misconfigured", isPermanent: true)
    /// Too much was asked of late; `retryAfter` says when to come back, where the server did.
    public static let rateLimited = Code("rate_limited", isPermanent: false)
    /// The server has too much to do, or is still loading.
    public static let overloaded = Code("overloaded", isPermanent: false)
    /// The server broke.
    public static let serverFailed = Code("server_failed", isPermanent: false)
    /// The time was up.
    public static let timeout = Code("timeout", isPermanent: false)
    /// Nobody there, or nobody who can be trusted.
    public static let unreachable = Code("unreachable", isPermanent: false)
    /// The connection ended before the answer was whole.
    public static let connectionLost = Code("connection_lost", isPermanent: false)
    /// The host failed too often of late; nothing was sent.
    public static let circuitOpen = Code("circuit_open", isPermanent: false)
    /// The answer is not what it should be.
    public static let malformedAnswer = Code("malformed_answer", isPermanent: false)
    /// Nobody waits any more.
    public static let cancelled = Code("cancelled", isPermanent: false)
  }

  /// The kind.
  public let code: Code
  /// The status of the answer, where there was one.
  public let status: Int?
  /// The server's own name for the error, such as `rate_limit_exceeded`, where it gave one that is a name.
  public let reason: String?
  /// When another attempt makes sense, where that is known.
  public let retryAfter: Duration?
  /// The server's id of the request, for its support.
  public let requestID: String?
  /// Whether the server may have done the work, and taken the money, though its answer is lost.
  public let mayHaveTakenEffect: Bool
  /// Whether there is no use in sending the same request again.
  public let isPermanent: Bool

  /// An error.
  ///
  /// - Parameters:
  ///   - code: The kind.
  ///   - status: The status of the answer.
  ///   - reason: The server's own name for the error.
  ///   - retryAfter: When another attempt makes sense.
  ///   - requestID: The server's id of the request.
  ///   - mayHaveTakenEffect: Whether the work may have been done.
  ///   - isPermanent: Whether the same request will fail again, where the server says so; nil for what the kind says.
  public init(
    _ code: Code, status: Int? = nil, reason: String? = nil, retryAfter: Duration? = nil, requestID: String? = nil,
    mayHaveTakenEffect: Bool = false, isPermanent: Bool? = nil
  ) {
    self.code = code
    self.status = status
    self.reason = reason
    self.retryAfter = retryAfter
    self.requestID = requestID
    self.mayHaveTakenEffect = mayHaveTakenEffect
    self.isPermanent = isPermanent ?? code.isPermanent
  }

  /// Why there was no answer.
  package init(_ error: OutboundError) {
    let code: Code =
      switch error.code {
      case .refusedURL, .invalidRequest, .tooManyRedirects: .misconfigured
      case .circuitOpen: .circuitOpen
      // Whom we do not trust now we may trust again: certificates are renewed.
      case .connectFailed, .tlsFailed: .unreachable
      case .timeout: .timeout
      case .responseTooLarge, .malformedResponse: .malformedAnswer
      case .cancelled: .cancelled
      default: .connectionLost
      }
    self.init(code, retryAfter: error.retryAfter, mayHaveTakenEffect: error.mayHaveBeenReceived)
  }

  /// The kind, the status and the server's name for the error.
  public var description: String {
    "\(code)" + (status.map { ": status \($0)" } ?? "") + (reason.map { " \($0)" } ?? "")
  }
}
