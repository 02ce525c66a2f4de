public import Glibc

/// Where a socket listens or connects to: an IP address and port, or a path in the file system.
public struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
  /// The family-specific parts.
  public enum Kind: Sendable, Hashable {
    /// Four bytes in network order, and the port.
    case ipv4([UInt8], port: UInt16)
    /// Sixteen bytes in network order, and the port.
    case ipv6([UInt8], port: UInt16)
    /// A Unix domain socket.
    case unix(path: String)
  }

  /// The family-specific parts.
  public let kind: Kind

  /// An address from its parts.
  public init(_ kind: Kind) { self.kind = kind }

  /// Reads `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/parley.sock`. Names are not looked up: see ``resolve(host:port:)``.
  public init(_ text: String) throws(EventLoopError) {
    if text.hasPrefix("unix:") {
      let path = String(text.dropFirst(5))
      guard !path.isEmpty, path.utf8.count < 108, !path.utf8.contains(0) else {
        throw .init(.invalidAddress, "'\(text)' is no path for a Unix socket (1 to 107 bytes)")
      }
      kind = .unix(path: path)
      return
    }
    guard let colon = text.lastIndex(of: ":"), text[text.index(after: colon)...].utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
      let port = UInt16(text[text.index(after: colon)...])
    else {
      throw .init(.invalidAddress, "'\(text)' is no address: give IPV4:PORT, [IPV6]:PORT or unix:PATH")
    }
    var host = text[..<colon]
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    if isBracketed { host = host.dropFirst().dropLast() }
    guard let address = SocketAddress(ip: String(host), port: port), (address.family == AF_INET6) == isBracketed else {
      throw .init(.invalidAddress, "'\(host)' is no IP address")
    }
    self = address
  }

  /// An address from the text of an IPv4 or IPv6 address; nil when it is neither.
  public init?(ip: String, port: UInt16) {
    var four = in_addr()
    var six = in6_addr()
    if inet_pton(AF_INET, ip, &four) == 1 {
      kind = .ipv4(withUnsafeBytes(of: four) { [UInt8]($0) }, port: port)
    } else if inet_pton(AF_INET6, ip, &six) == 1 {
      kind = .ipv6(withUnsafeBytes(of: six) { [UInt8]($0) }, port: port)
    } else {
      return nil
    }
  }

  /// The port, or nil for a Unix socket.
  public var port: UInt16? {
    switch kind {
    case .ipv4(_, let port), .ipv6(_, let port): port
    case .unix: nil
    }
  }

  /// The host part alone: the text of the IP address (an IPv4-mapped IPv6 address as IPv4), or `unix`.
  public var host: String {
    switch kind {
    case .ipv4(let bytes, _): return bytes.map { "\($0)" }.joined(separator: ".")
    case .ipv6(let bytes, _):
      if isMappedIPv4 {
        return bytes.suffix(4).map { "\($0)" }.joined(separator: ".")
      }
      var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count))
      return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    case .unix: return "unix"
    }
  }

  /// Whether it is an IPv4 address that an IPv6 socket has seen (RFC 4291, section 2.5.5.2).
  var isMappedIPv4: Bool {
    guard case .ipv6(let bytes, _) = kind else { return false }
    return bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
  }

  /// Whether only this machine can reach it.
  public var isLoopback: Bool {
    switch kind {
    case .ipv4(let bytes, _): bytes[0] == 127
    case .ipv6(let bytes, _):
      host == "::1" || (bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff && bytes[12] == 127)
    case .unix: true
    }
  }

  /// The form that an address is read from.
  public var description: String {
    switch kind {
    case .ipv4(_, let port): "\(host):\(port)"
    case .ipv6(_, let port): "[\(host)]:\(port)"
    case .unix(let path): "unix:\(path)"
    }
  }

  /// Looks a host name up. Blocks for as long as the resolver takes: call it through ``BlockingPool/run(_:)``.
  ///
  /// - Returns: All addresses in the resolver's order, at least one.
  public static func resolve(host: String, port: UInt16) throws(EventLoopError) -> [SocketAddress] {
    if let address = SocketAddress(ip: host, port: port) { return [address] }
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_ADDRCONFIG
    var list: UnsafeMutablePointer<addrinfo>?
    let result = getaddrinfo(host, nil, &hints, &list)
    defer { if let list { freeaddrinfo(list) } }
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee {
      if let raw = entry.ai_addr, let address = SocketAddress(raw, port: port) { addresses.append(address) }
      next = entry.ai_next
    }
    guard !addresses.isEmpty else {
      throw .init(.unresolvableName, "no address for '\(host)': \(result == 0 ? "none" : String(cString: gai_strerror(result)))")
    }
    return addresses
  }
}

// MARK: The C library's form

extension SocketAddress {
  /// Reads what the kernel filled in; nil for a family that is not served here.
  public init?(_ raw: UnsafePointer<sockaddr>, port override: UInt16? = nil) {
    switch Int32(raw.pointee.sa_family) {
    case AF_INET:
      let address = UnsafeRawPointer(raw).loadUnaligned(as: sockaddr_in.self)
      kind = .ipv4(withUnsafeBytes(of: address.sin_addr) { [UInt8]($0) }, port: override ?? UInt16(bigEndian: address.sin_port))
    case AF_INET6:
      let address = UnsafeRawPointer(raw).loadUnaligned(as: sockaddr_in6.self)
      kind = .ipv6(withUnsafeBytes(of: address.sin6_addr) { [UInt8]($0) }, port: override ?? UInt16(bigEndian: address.sin6_port))
    case AF_UNIX:
      kind = .unix(path: Self.path(in: UnsafeRawPointer(raw).loadUnaligned(as: sockaddr_un.self)))
    default:
      return nil
    }
  }

  /// Calls `body` with the kernel's form of the address.
  public func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var storage = sockaddr_storage()
    let length = withUnsafeMutableBytes(of: &storage) { bytes -> Int in
      switch kind {
      case .ipv4(let host, let port):
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: host) }
        bytes.storeBytes(of: address, as: sockaddr_in.self)
        return MemoryLayout<sockaddr_in>.size
      case .ipv6(let host, let port):
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: host) }
        bytes.storeBytes(of: address, as: sockaddr_in6.self)
        return MemoryLayout<sockaddr_in6>.size
      case .unix(let path):
        bytes.storeBytes(of: sa_family_t(AF_UNIX), as: sa_family_t.self)
        // A length beyond what a Unix address can have is refused by the kernel, as it should be.
        guard path.utf8.count < 108 else { return MemoryLayout<sockaddr_un>.size + 1 }
        bytes.baseAddress!.advanced(by: 2).copyMemory(from: Array(path.utf8), byteCount: path.utf8.count)
        return 2 + path.utf8.count + 1
      }
    }
    return withUnsafePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
    }
  }

  /// The socket family constant of this address.
  public var family: Int32 {
    switch kind {
    case .ipv4: AF_INET
    case .ipv6: AF_INET6
    case .unix: AF_UNIX
    }
  }

  private static func path(in address: sockaddr_un) -> String {
    withUnsafeBytes(of: address.sun_path) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
