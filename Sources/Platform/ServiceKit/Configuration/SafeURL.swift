/// Addresses that tokens and keys may be sent to.
public enum SafeURL {
  /// Hosts that are this machine and no other: compared whole, since anybody may own `localhost.example`.
  private static let local: Set<String> = ["127.0.0.1", "localhost", "[::1]"]

  /// Whether an address is of https, or of plain http on this machine itself.
  ///
  /// What comes before an `@` is not the host, whatever it looks like, so an address with one is none of these.
  public static func isSafe(_ url: String) -> Bool {
    guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") }) else { return false }
    guard let (scheme, host) = parts(url) else { return false }
    return scheme == "https" || (scheme == "http" && local.contains(host))
  }

  /// Scheme and host in lower case, an IPv6 address with its brackets; nil for what is no address of a host.
  private static func parts(_ url: String) -> (scheme: String, host: String)? {
    guard let separator = url.firstRange(of: "://") else { return nil }
    let authority = url[separator.upperBound...].prefix { !"/?#".contains($0) }
    guard !authority.contains("@") else { return nil }
    // The colons of an IPv6 address are in its brackets.
    let end =
      authority.hasPrefix("[") ? authority.firstIndex(of: "]").map { authority.index(after: $0) } : authority.firstIndex(of: ":")
    let host = authority[..<(end ?? authority.endIndex)]
    let port = authority[host.endIndex...]
    guard !host.isEmpty, port.isEmpty || (port.first == ":" && UInt16(port.dropFirst()) != nil) else { return nil }
    return (url[..<separator.lowerBound].lowercased(), host.lowercased())
  }
}
