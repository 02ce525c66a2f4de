/// Where a request really comes from, as far as that can be known.
public struct ClientAddress: Sendable, Hashable, CustomStringConvertible {
  /// The canonical text of the IP address; `unix` for a peer on a Unix socket; what the transport said when it is neither.
  public let text: String
  /// What limits per address are kept under: an IPv4 address, or the /64 of an IPv6 address, since whoever has one address of
  /// it has all.
  public let limitKey: String

  /// What it says.
  public var description: String { text }

  /// Takes the transport's word for it.
  init(_ peer: String) {
    guard let bytes = NetworkPrefix.addressBytes(peer) else {
      self.init(text: peer, limitKey: peer)
      return
    }
    self.init(bytes)
  }

  private init(_ bytes: [UInt8]) {
    let text = NetworkPrefix.text(bytes)
    self.init(text: text, limitKey: bytes.count == 4 ? text : NetworkPrefix.around(bytes, length: 64).configurationText)
  }

  private init(text: String, limitKey: String) {
    self.text = text
    self.limitKey = limitKey
  }

  /// Finds the client behind the proxies that are trusted.
  ///
  /// Each proxy appends whom it got the request from, so only what trusted proxies wrote can be believed: from the right, the
  /// first hop that is not itself a trusted proxy is the client. Whatever stands further left, anybody may have written. A hop
  /// that is no address (`unknown`, `_hidden`, rubbish) hides what came before it: then the last known hop counts.
  ///
  /// - Parameters:
  ///   - peer: The other end of the connection: the text of its IP address, or `unix`.
  ///   - forwardedFor: The values of all `X-Forwarded-For` fields, in their order.
  ///   - trusted: The networks of the trusted proxies.
  public static func resolve(peer: String, forwardedFor: [String], trusted: [NetworkPrefix]) -> ClientAddress {
    let peerAddress = ClientAddress(peer)
    guard isTrusted(peer, trusted) else { return peerAddress }
    var known = peerAddress
    for value in forwardedFor.reversed() {
      for hop in value.split(separator: ",").reversed() {
        let text = hop.trimmingBlanks
        if text.isEmpty { continue }
        guard let bytes = addressOfHop(text) else { return known }
        known = ClientAddress(bytes)
        guard trusted.contains(where: { $0.contains(bytes) }) else { return known }
      }
    }
    return known
  }

  /// Whether a peer is one of these proxies.
  static func isTrusted(_ peer: String, _ trusted: [NetworkPrefix]) -> Bool {
    if peer == "unix" { return trusted.contains(.unix) }
    guard let bytes = NetworkPrefix.addressBytes(peer) else { return false }
    return trusted.contains { $0.contains(bytes) }
  }

  /// Reads `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:4711`, also in quotes.
  private static func addressOfHop(_ text: String) -> [UInt8]? {
    var hop = text[...]
    if hop.count >= 2, hop.first == "\"", hop.last == "\"" { hop = hop.dropFirst().dropLast() }
    if hop.first == "[" {
      guard let end = hop.firstIndex(of: "]") else { return nil }
      let rest = hop[hop.index(after: end)...]
      guard rest.isEmpty || (rest.first == ":" && isPort(rest.dropFirst())) else { return nil }
      let inner = hop[hop.index(after: hop.startIndex)..<end]
      return inner.contains(":") ? NetworkPrefix.addressBytes(String(inner)) : nil
    }
    if let bytes = NetworkPrefix.addressBytes(String(hop)) { return bytes }
    guard let colon = hop.lastIndex(of: ":"), isPort(hop[hop.index(after: colon)...]), !hop[..<colon].contains(":") else {
      return nil
    }
    return NetworkPrefix.addressBytes(String(hop[..<colon]))
  }

  private static func isPort(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt16(text) != nil
  }
}
