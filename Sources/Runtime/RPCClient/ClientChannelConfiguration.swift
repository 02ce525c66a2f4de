public import HTTP2
public import MessagesCore
public import RPC

/// How a ``ClientChannel`` connects and calls.
public struct ClientChannelConfiguration: Sendable {
  /// How connections are encrypted; nil for clear text with prior knowledge.
  public var tls: TLSContext?
  /// What one connection may cost.
  public var http2 = HTTP2Limits()
  /// The largest response message, in bytes. A larger one is RESOURCE_EXHAUSTED.
  public var maximumResponseBytes = 4 << 20
  /// What every call passes, outermost first.
  public var interceptors: [any ClientInterceptor] = []
  /// How the client names itself to servers.
  public var userAgent = "parley"

  /// The protocol that calls are made in.
  public var wire = Wire.grpc
  /// The form of messages.
  public var codec = Codec.proto
  /// How requests are compressed, where a call's options do not say.
  public var compression = MessageCompression.identity
  /// What an `Any` may hold in JSON.
  public var registry: MessageRegistry?

  /// The time to give an attempt to connect, over all addresses and with its handshakes.
  public var connectTimeout = Duration.seconds(20)
  /// How long one address is tried alone before the next one is tried beside it: RFC 8305, section 5.
  public var attemptDelay = Duration.milliseconds(250)
  /// How long to wait between connection attempts that fail, and between look-ups of a name that fail.
  public var backoff = ConnectionBackoff()
  /// How the client finds out that a server is gone although no packet says so.
  public var keepalive = ClientKeepalive()
  /// How long a loop's connections stay without a call; nil for always. Looked at once per this time, so that they end at the
  /// latest after twice as long.
  public var idleTimeout: Duration?

  /// Who finds the addresses of a host name; nil for the system.
  public var resolver: (any NameResolver)?
  /// The time from a name's addresses to the next look-up at the earliest. One is made when a connection fails or a server says
  /// goodbye.
  public var resolutionInterval = Duration.seconds(30)
  /// How calls are spread over several addresses, unless ``serviceConfig`` says otherwise.
  public var loadBalancing = LoadBalancingPolicy.pickFirst()
  /// How the service's owner wants it to be called.
  public var serviceConfig = ServiceConfig()
  /// Whether failed calls are tried again as ``serviceConfig`` says. Calls that a server has certainly not begun are always
  /// tried again.
  public var retriesFailedCalls = true
  /// The most bytes of requests that a call keeps for another attempt; a call that has sent more is not tried again.
  public var retryBufferBytes = 256 << 10
  /// Who sees every call and its attempts, for metrics and traces.
  public var observer: (any ClientCallObserver)?
  /// Who is told what the channel lives through.
  public var events = ClientChannelEvents()

  /// The protocols that servers speak.
  public enum Wire: String, Sendable, Hashable, CaseIterable {
    /// gRPC over HTTP/2: works with every gRPC server.
    case grpc
    /// gRPC-Web, binary: what proxies in front of gRPC servers speak to browsers.
    case grpcWeb
    /// Connect: plain HTTP for unary calls, envelopes for streams.
    case connect
  }

  /// The forms of messages.
  public enum Codec: String, Sendable, Hashable, CaseIterable {
    /// Protobuf's wire format.
    case proto
    /// proto3 JSON.
    case json
  }

  /// The defaults, in clear text.
  public init(tls: TLSContext? = nil) { self.tls = tls }
}
