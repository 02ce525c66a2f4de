/// Why a request got no response that its sender may use.
///
/// The message names the method, the URL without its query, and the kind of failure; never a header, a body or a query,
/// which may hold secrets. It is meant for logs: a caller of ours is told something of his own.
public struct OutboundError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name in logs and metrics.
    public let description: String

    /// The scheme, host or form of the URL is not allowed; nothing was sent.
    public static let refusedURL = Code(description: "refused_url")
    /// The method or a header cannot be sent (a line break in a value, say); nothing was sent.
    public static let invalidRequest = Code(description: "invalid_request")
    /// The host failed too often of late; nothing was sent. ``OutboundError/retryAfter`` says when to try again.
    public static let circuitOpen = Code(description: "circuit_open")
    /// No address is known for the host, or nobody accepts connections there.
    public static let connectFailed = Code(description: "connect_failed")
    /// The TLS handshake failed or the certificate is not trusted.
    public static let tlsFailed = Code(description: "tls_failed")
    /// The deadline passed, or connecting took too long.
    public static let timeout = Code(description: "timeout")
    /// The connection ended before the response was whole.
    public static let connectionLost = Code(description: "connection_lost")
    /// The response's body or headers are larger than allowed; the rest was not read.
    public static let responseTooLarge = Code(description: "response_too_large")
    /// The body that was to be sent piece by piece broke off, or had another size than announced.
    public static let uploadFailed = Code(description: "upload_failed")
    /// The peer does not speak HTTP.
    public static let malformedResponse = Code(description: "malformed_response")
    /// A followed chain of redirects was longer than allowed.
    public static let tooManyRedirects = Code(description: "too_many_redirects")
    /// The task was cancelled, or the client or its loop was shut down.
    public static let cancelled = Code(description: "cancelled")
    /// Anything else that libcurl reports.
    public static let transportFailed = Code(description: "transport_failed")
  }

  /// The kind of failure.
  public let code: Code
  /// What was tried and how it failed, without secrets.
  public let message: String
  /// When another attempt makes sense, if that is known.
  public let retryAfter: Duration?

  /// An error of the given kind.
  public init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
  }

  /// Whether it may go better in a moment. A certificate that is not trusted now is not trusted in a second either.
  public var mayPass: Bool { [.connectFailed, .timeout, .connectionLost].contains(code) }

  /// Whether the peer may have received the request, and done what it asks for, though there is no answer.
  public var mayHaveBeenReceived: Bool { !Self.unsent.contains(code) }

  private static let unsent: Set<Code> = [.refusedURL, .invalidRequest, .circuitOpen, .connectFailed, .tlsFailed]

  /// The code and the message.
  public var description: String { "\(code): \(message)" }
}
