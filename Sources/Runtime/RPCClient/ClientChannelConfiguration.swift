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
  /// The time to give a connection attempt, with its handshakes.
  public var connectTimeout = Duration.seconds(20)
  /// How long to wait between connection attempts.
  public var backoff = ConnectionBackoff()
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

/// The wait between failing connection attempts: exponential with jitter, as gRPC's connection-backoff document describes.
public struct ConnectionBackoff: Sendable {
  /// The wait after the first failure.
  public var initial = Duration.seconds(1)
  /// What each further failure multiplies it by.
  public var multiplier = 1.6
  /// The longest wait.
  public var maximum = Duration.seconds(120)
  /// How far a wait strays from its length, to both sides, as a part of it.
  public var jitter = 0.2

  /// The defaults of gRPC.
  public init() {}

  /// The wait after so many failures in a row (at least one).
  public func delay(after failures: Int) -> Duration {
    var seconds = initial / .seconds(1)
    for _ in 1..<max(failures, 1) { seconds = min(seconds * multiplier, maximum / .seconds(1)) }
    return .seconds(seconds * Double.random(in: (1 - jitter)...(1 + jitter)))
  }
}

/// Where a channel leads.
public enum ChannelTarget: Sendable, Hashable, CustomStringConvertible {
  /// A host name or IP address, looked up at each connection attempt.
  case host(String, port: UInt16)
  /// A Unix socket.
  case unix(path: String)

  /// What `:authority` says and, without its port, what a server's certificate is verified against.
  public var description: String {
    switch self {
    case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix: "localhost"
    }
  }

  var serverName: String {
    switch self {
    case .host(let host, _): host
    case .unix: "localhost"
    }
  }
}
