public import Foundation
import RPC

/// Why there is no cloud token. As an `NSError` it has the domain `TokenBroker` and the code's number.
public struct TokenBrokerError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure: an HTTP status, or -1.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The number.
    public let rawValue: Int

    /// The code with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Nobody is signed in, or the broker does not accept who is: sign in.
    public static let notSignedIn = Code(rawValue: 401)
    /// There was no answer: the broker was not reached, or not in time.
    public static let noResponse = Code(rawValue: -1)
    /// Too many calls: wait for ``TokenBrokerError/retryAfter``.
    public static let rateLimited = Code(rawValue: 429)
  }

  /// The domain of the error.
  public static let domain = "TokenBroker"
  /// How long to wait where a refusal for too many calls does not say.
  public static let defaultRetryAfter = Duration.seconds(60)

  /// The kind of failure.
  public let code: Code
  /// What the broker said, or what happened.
  public let message: String
  /// The broker's reason, a name of `parley.broker.v1.ErrorReason` without its prefix; nil when it gave none.
  public let reason: String?
  /// How long to wait before the next try; always there with ``Code/rateLimited``.
  public let retryAfter: Duration?
  /// What led to it.
  public let cause: (any Error)?

  init(_ code: Code, _ message: String, reason: String? = nil, retryAfter: Duration? = nil, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.reason = reason
    self.retryAfter = retryAfter
    self.cause = cause
  }

  /// What a failed call to the broker means.
  init(_ error: RPCError) {
    let code = error.isFromHere ? .noResponse : Code(rawValue: error.toldStatus)
    let text = (error.cause as? AnsweredStatus)?.text ?? error.message
    var message = text.isEmpty ? "Unknown error" : text
    var wait = error.retryAfter
    if code == .rateLimited {
      let asked = wait ?? Self.defaultRetryAfter
      let (seconds, rest) = asked.components
      message = "rate limited, retry after \(seconds + (rest > 0 ? 1 : 0)) seconds"
      wait = asked
    }
    self.init(code, message, reason: error.reason, retryAfter: wait, cause: error)
  }

  /// Whether the broker cannot answer now, so that a token at hand serves as long as it lasts.
  public var isUnavailability: Bool { code == .noResponse || code.rawValue >= 500 }

  /// Domain, code and message, for logs.
  public var description: String { "\(Self.domain) \(code.rawValue): \(message)" }
}

extension TokenBrokerError: CustomNSError, LocalizedError {
  /// `TokenBroker`
  public static var errorDomain: String { domain }
  /// The code's number.
  public var errorCode: Int { code.rawValue }
  /// What to show to whoever asks for a description.
  public var errorDescription: String? { message }
}
