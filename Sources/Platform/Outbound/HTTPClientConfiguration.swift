/// What holds for all requests of a client unless a request says otherwise.
public struct HTTPClientConfiguration: Sendable {
  /// Which peers may be spoken to without TLS.
  public enum PlainHTTP: Sendable, Hashable {
    /// None: every URL is https.
    case never
    /// This machine only: `localhost`, `127.0.0.0/8` and `[::1]`.
    case loopbackOnly
    /// Any host. For closed networks; nothing that is sent is protected.
    case anywhere
  }

  /// Whether and to what requests go through a proxy.
  public enum Proxy: Sendable, Hashable {
    /// Straight to the host, whatever the environment says.
    case none
    /// As `https_proxy`, `http_proxy` and `no_proxy` say.
    case environment
    /// Through this one.
    case url(String)
  }

  /// Which peers may be spoken to without TLS.
  public var plainHTTP = PlainHTTP.loopbackOnly
  /// A file of PEM certificates to trust instead of the system's.
  public var caFile: String?
  /// Whether and to what requests go through a proxy.
  public var proxy = Proxy.none
  /// The `User-Agent` of requests that set none.
  public var userAgent = "parley/1"
  /// How long a request may take, with all its attempts.
  public var timeout = Duration.seconds(30)
  /// How long connecting may take, the TLS handshake included.
  public var connectTimeout = Duration.seconds(5)
  /// The largest body that is accepted, in bytes.
  public var maximumResponseSize = 1 << 20
  /// The most bytes that the header section of a response may have.
  public var maximumHeaderSize = 64 << 10
  /// When a request that may be repeated is.
  public var retry = RetryPolicy.never
  /// When a host is left alone, and for how long; nil to try always.
  public var circuit: CircuitBreaker.Thresholds? = .init()
  /// The most connections that one loop keeps to one host. Requests beyond wait for a free one, or a free stream, within their
  /// time limit. Few on purpose: once an HTTP/2 connection is full, libcurl 7.88 opens one more for each request that waits.
  public var connectionsPerHost = 6
  /// The most requests that share one HTTP/2 connection.
  public var streamsPerConnection = 100

  /// The defaults.
  public init() {}
}
