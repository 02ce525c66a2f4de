public import EventLoop
internal import JSON

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
  var json: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    for (name, address) in named {
      writer.name(name)
      writer.string(address.description)
    }
    writer.endObject()
    writer.endLine()
    return writer.bytes
  }

  /// For a log line.
  var text: String { named.map { "\($0) \($1)" }.joined(separator: ", ") }
}
