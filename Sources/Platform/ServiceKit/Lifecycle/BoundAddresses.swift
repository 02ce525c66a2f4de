public import EventLoop

/// Where a process listens, with the ports that the system chose.
public struct BoundAddresses: Sendable, Equatable {
  /// Clear-text HTTP/2.
  public var grpc: SocketAddress?
  /// HTTP/2 over TLS.
  public var tls: SocketAddress?
  /// Metrics and probes.
  public var admin: SocketAddress?

  /// Nowhere yet.
  public init() {}

  private var named: [(String, SocketAddress)] {
    [("grpc", grpc), ("tls", tls), ("admin", admin)].compactMap { name, address in address.map { (name, $0) } }
  }

  /// One line of JSON.
  var json: String { "{" + named.map { "\(JSONText.quoted($0)):\(JSONText.quoted($1.description))" }.joined(separator: ",") + "}\n" }

  /// For a log line.
  var text: String { named.map { "\($0) \($1)" }.joined(separator: ", ") }
}
