/// Why a stream or a connection ended, as RFC 9113, section 7 numbers it.
public struct HTTP2ErrorCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// The number on the wire.
  public let rawValue: UInt32

  /// The code of a number, known or not.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// A graceful end.
  public static let noError = HTTP2ErrorCode(rawValue: 0)
  /// A rule of the protocol was broken.
  public static let protocolError = HTTP2ErrorCode(rawValue: 1)
  /// The sender failed.
  public static let internalError = HTTP2ErrorCode(rawValue: 2)
  /// More bytes than the window allowed.
  public static let flowControlError = HTTP2ErrorCode(rawValue: 3)
  /// SETTINGS were not acknowledged in time.
  public static let settingsTimeout = HTTP2ErrorCode(rawValue: 4)
  /// A frame for a half-closed stream.
  public static let streamClosed = HTTP2ErrorCode(rawValue: 5)
  /// A frame of the wrong size.
  public static let frameSizeError = HTTP2ErrorCode(rawValue: 6)
  /// The stream was not processed at all; it may be tried again.
  public static let refusedStream = HTTP2ErrorCode(rawValue: 7)
  /// Nobody wants the stream any more.
  public static let cancel = HTTP2ErrorCode(rawValue: 8)
  /// The header compression state is broken.
  public static let compressionError = HTTP2ErrorCode(rawValue: 9)
  /// The tunnel's connection broke.
  public static let connectError = HTTP2ErrorCode(rawValue: 10)
  /// The peer behaves in a way that costs too much.
  public static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 11)
  /// TLS is not good enough.
  public static let inadequateSecurity = HTTP2ErrorCode(rawValue: 12)
  /// HTTP/1.1 is to be used.
  public static let http11Required = HTTP2ErrorCode(rawValue: 13)

  private static let names = [
    "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
    "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
  ]

  /// The name in the RFC.
  public var description: String { rawValue < Self.names.count ? Self.names[Int(rawValue)] : "error \(rawValue)" }
}

/// A connection that could not be made or was lost.
public struct HTTP2Error: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public struct Code: Sendable, Hashable {
    let name: String
    /// The peer cannot be reached.
    public static let connectFailed = Code(name: "connect_failed")
    /// The peer did not get through the handshake in time.
    public static let handshakeTimeout = Code(name: "handshake_timeout")
    /// The peer began a header list and did not finish it in time.
    public static let headerTimeout = Code(name: "header_timeout")
    /// The peer did not answer a PING in time.
    public static let keepaliveTimeout = Code(name: "keepalive_timeout")
    /// The connection was at its maximum age, and what went on in it took longer than it was given.
    public static let maximumAge = Code(name: "maximum_age")
    /// TLS failed.
    public static let tlsFailed = Code(name: "tls_failed")
    /// The peer broke HTTP/2's rules, or we did in its eyes.
    public static let protocolError = Code(name: "protocol_error")
    /// The peer cost more than a connection may; the message begins with what it did too often.
    public static let abuse = Code(name: "abuse")
    /// The peer took nothing of what it was sent for too long.
    public static let stalled = Code(name: "stalled")
    /// The connection is closed.
    public static let connectionClosed = Code(name: "connection_closed")
  }

  /// The kind of failure.
  public let code: Code
  /// What happened, for the log and for the developer.
  public let message: String

  /// An error of the given kind.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The kind and the message.
  public var description: String { "\(code.name): \(message)" }
}
