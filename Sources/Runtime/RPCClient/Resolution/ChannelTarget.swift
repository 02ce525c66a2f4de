public import EventLoop

/// Where a channel leads.
public enum ChannelTarget: Sendable, Hashable, CustomStringConvertible {
  /// A host name, looked up when it is needed and again when connections fail, or an IP address.
  case host(String, port: UInt16)
  /// A Unix socket.
  case unix(path: String)
  /// A list of addresses; `authority` is the name of the service behind all of them, with or without a port.
  case addresses([SocketAddress], authority: String)

  /// What `:authority` says and, without its port, what a server's certificate is verified against.
  public var description: String {
    switch self {
    case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix: "localhost"
    case .addresses(_, let authority): authority
    }
  }

  var serverName: String {
    switch self {
    case .host(let host, _): host
    case .unix: "localhost"
    case .addresses(_, let authority): Self.name(in: authority)
    }
  }

  /// The addresses, when nobody has to be asked for them.
  var fixedAddresses: [SocketAddress]? {
    switch self {
    case .host(let host, let port): SocketAddress(ip: host, port: port).map { [$0] }
    case .unix(let path): [SocketAddress(.unix(path: path))]
    case .addresses(let addresses, _): addresses
    }
  }

  /// An authority without its port: `api.example.com:443`, `[::1]:443` or either without the port.
  private static func name(in authority: String) -> String {
    if authority.hasPrefix("["), let end = authority.lastIndex(of: "]") {
      return String(authority[authority.index(after: authority.startIndex)..<end])
    }
    guard let colon = authority.lastIndex(of: ":"), authority.firstIndex(of: ":") == colon else { return authority }
    return String(authority[..<colon])
  }
}
