/// What one connection may cost. Every bound has a default that suits a server on the open network.
public struct HTTP2Limits: Sendable {
  /// Streams that the peer may have open at once; one more is refused (`REFUSED_STREAM`).
  public var concurrentStreams = 1_024
  /// Bytes of a header list (names, values and 32 per field). A longer one is not stored and the request is refused.
  public var headerListBytes = 16 << 10
  /// A header list this many times too long ends the connection.
  public var headerListTolerance = 4
  /// Bytes that the peer may send on one stream before it is told to go on.
  public var streamWindowBytes = 256 << 10
  /// Bytes that the peer may send on all streams before it is told to go on.
  public var connectionWindowBytes = 1 << 20
  /// The largest frame accepted, in bytes.
  public var frameBytes = 16 << 10
  /// Bytes that wait for the peer to read; above them the connection is not read until it catches up.
  public var outputBytes = 8 << 20
  /// Bytes that wait on one stream; above them a writer of a streamed response suspends.
  public var streamOutputBytes = 32 << 10
  /// Time for the TLS handshake and the peer's preface and SETTINGS.
  public var handshakeTimeout = Duration.seconds(10)
  /// Time that a request may go on after its response is complete, before it is reset.
  public var unreadRequestTime = Duration.seconds(1)
  /// Time after which a connection without streams is closed.
  public var idleTimeout = Duration.seconds(900)
  /// Time between the first GOAWAY of a drain, which lets requests in flight arrive, and the second, which names the last.
  public var drainNotice = Duration.seconds(1)
  /// SETTINGS in one frame.
  public var settings = 32
  /// CONTINUATION frames that a header block may have.
  public var continuations = 8
  /// What the peer may do at once that is of no use to anybody: frames that move nothing, requests that end in a reset. Most count
  /// as one, some as ten, some as a fraction; one too many ends the connection (`ENHANCE_YOUR_CALM`).
  public var glitchBurst = 1_000
  /// How many of them are forgiven per second.
  public var glitchesPerSecond = 33
  /// Frames without a body (header lists, resets, acknowledgements) that may wait for a peer that does not read; above them the
  /// connection is not read until it catches up, above twice as many it ends.
  public var queuedFrames = 8_192
  /// Time that a response may wait for a window of its peer's, a connection for its socket, and a large request for the rest of it;
  /// less than 1 KiB in that time counts as nothing (server only).
  public var writeStallTimeout = Duration.seconds(30)
  /// Time for the reason of a connection's end to leave, when the peer does not read.
  public var farewellTime = Duration.seconds(1)
  /// Answers to PING and SETTINGS that may wait for a peer that does not read.
  public var queuedAcknowledgements = 100

  // MARK: Time

  /// Time for the frames of a header list, from the first byte to the last; then the connection ends (server only).
  public var headerTimeout = Duration.seconds(10)
  /// Age at which a connection is drained, ±10 % so that not all clients come back at once; nil for none (server only).
  public var maximumAge: Duration?
  /// Time that calls have after that to end.
  public var ageGrace = Duration.seconds(60)
  /// Silence of a peer after which it is asked by a PING whether it is still there; nil for never (server only).
  public var keepaliveTime: Duration? = .seconds(7_200)
  /// Time for the answer.
  public var keepaliveTimeout = Duration.seconds(20)

  // MARK: Memory

  /// Bytes of responses that wait on one connection; above them a stream's write waits, and a response that cannot wait fails.
  public var responseBytes = 8 << 20
  /// The same on all connections of the process.
  public var processResponseBytes = 128 << 20
  /// Bytes of requests that wait on one connection for the rest of them or for their handler. Beyond seven eighths of them the
  /// newest requests that are not whole are refused; beyond all of them the peer's window stays shut.
  public var requestBytes = 32 << 20
  /// The same on all connections of the process; beyond it those that hold more than 64 KiB have their newest requests refused.
  public var processRequestBytes = 256 << 20

  /// The defaults.
  public init() {}
}
