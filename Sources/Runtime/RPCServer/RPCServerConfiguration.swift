public import EventLoop
public import HTTP2
public import MessagesCore
public import RPC

/// What an ``RPCServer`` allows, beyond what each connection may cost.
public struct RPCServerConfiguration: Sendable {
  /// What one connection may cost.
  public var http2 = HTTP2Limits()
  /// The largest request message, in bytes after decompression. A larger one is RESOURCE_EXHAUSTED.
  public var maximumRequestBytes = 4 << 20
  /// The largest body of a plain HTTP request, in bytes. A larger one is answered with 413.
  public var maximumHTTPBodyBytes = 1 << 20
  /// Bytes that requests larger than ``maximumRequestBytes`` may come to in the process at once, where a method or a route takes
  /// such, from when they begin to come until they have been worked on. The next one waits for its turn; one that alone is larger has
  /// it alone. Those of another room (``RPC/RequestLimit``) have one of their own, for four of the largest.
  public var largeRequestBytes = 128 << 20
  /// What has to come of such a body of plain HTTP, on average and after ``largeBodyGrace``, once it has its turn; one that comes more
  /// slowly is answered with 408, so that the next gets its turn. For that it waits at most ``maximumCallDuration`` (60 s without). An
  /// RPC has its deadline.
  public var largeBodyBytesPerSecond = 64 << 10
  /// The time that such a body has at least.
  public var largeBodyGrace = Duration.seconds(10)
  /// The time a call may take whatever its caller allows, or nil for no bound. A streaming call is bound only by its caller's
  /// deadline, and by this when that is longer.
  public var maximumCallDuration: Duration? = nil
  /// Handlers that may run at once in the process; one more call is RESOURCE_EXHAUSTED.
  public var maximumRunningHandlers = 16_384
  /// Handlers that may be suspended at once for one connection, of a proxy's for one client, those of calls that were cancelled
  /// included; one more call is RESOURCE_EXHAUSTED.
  public var maximumRunningHandlersPerConnection = 2_048
  /// How many connections there may be.
  public var accept = AcceptLimits()
  /// The proxies whose connections many clients share, and how these are told apart; nil where each connection is one client's.
  public var proxies: ForwardedClients?
  /// What responses are compressed with, where the caller accepts it and the handler does not choose otherwise.
  public var responseCompression = MessageCompression.identity
  /// The least bytes of a response that are compressed when the handler has not chosen; smaller ones gain nothing.
  public var minimumCompressedBytes = 1_024
  /// Whether JSON requests may have members that the message does not know; otherwise they are INVALID_ARGUMENT.
  public var ignoresUnknownJSONFields = true
  /// The messages that a `google.protobuf.Any` may hold in JSON.
  public var messageRegistry: MessageRegistry?
  /// Whose pages may call RPCs from a browser; nil for none.
  public var cors: CORSPolicy?

  /// The defaults.
  public init() {}

  /// What the large requests of one room may come to at once: ``largeRequestBytes`` in the first, four of the largest in others.
  ///
  /// - Parameters:
  ///   - room: Its name (``RPC/RequestLimit``).
  ///   - largest: The bytes of the largest request that waits in it.
  public func roomBytes(_ room: String, largest: Int) -> Int { room == RequestLimit.room ? largeRequestBytes : 4 * largest }
}

/// What there was too much of when a call was turned away.
public enum ShedReason: String, Sendable, Hashable, CaseIterable {
  /// Handlers that run in the process.
  case runningHandlers = "running_handlers"
  /// Bytes of requests that are not whole.
  case requestBytes = "request_bytes"
  /// Bytes of responses that wait for their peers.
  case responseBytes = "response_bytes"
  /// Of what a client behind a proxy does without any use.
  case abuse = "abuse"
}

/// What a server tells about, for logs and metrics. Calls come on the loop of the connection.
public struct RPCServerEvents: Sendable {
  /// A handler threw an error that no caller should see; the caller got INTERNAL with this incident id.
  public var unexpectedError: @Sendable (_ call: CallContext, _ error: any Error, _ incident: String) -> Void = { _, _, _ in }
  /// An HTTP handler threw; the caller got 500 with this incident id.
  public var unexpectedHTTPError: @Sendable (_ path: String, _ error: any Error, _ incident: String) -> Void = { _, _, _ in }
  /// A plain HTTP request was turned away by the server itself, and no handler has seen it, or what it says is of no use any more.
  /// The path is as it was sent, without its query.
  public var httpRefused: @Sendable (_ refusal: HTTPRefusal, _ method: String, _ path: String, _ peer: Peer) -> Void = {
    _, _, _, _ in
  }
  /// A connection ended in an error.
  public var connectionFailed: @Sendable (_ peer: String, _ error: HTTP2Error) -> Void = { _, _ in }
  /// A call was turned away, or cut short, because too much is going on.
  public var callShed: @Sendable (_ reason: ShedReason) -> Void = { _ in }
  /// Connections were closed as soon as they were accepted. Told at most once a second, on the listener's loop.
  public var connectionsRefused: @Sendable (_ refusals: AcceptRefusals) -> Void = { _ in }
  /// A connection was opened (+1) or closed (-1).
  public var connectionsChanged: @Sendable (_ change: Int) -> Void = { _ in }

  /// Nobody is told anything.
  public init() {}
}
