import Testing

@testable import ServiceKit

@Suite("Client addresses")
struct ClientAddressTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var peer: String
    var forwarded: [String] = []
    var trusted: [String] = []
    var client: String
    var testDescription: String { name }
  }

  static let cases = [
    Case(name: "without proxies the peer is the client", peer: "192.0.2.7", client: "192.0.2.7"),
    Case(
      name: "an untrusted peer's header is not believed", peer: "192.0.2.7", forwarded: ["203.0.113.9"], trusted: ["10.0.0.0/8"],
      client: "192.0.2.7"),
    Case(
      name: "a trusted peer names the client", peer: "10.0.0.1", forwarded: ["203.0.113.9"], trusted: ["10.0.0.0/8"],
      client: "203.0.113.9"),
    Case(
      name: "a forged entry further left does not count", peer: "10.0.0.1", forwarded: ["127.0.0.1, 203.0.113.9"],
      trusted: ["10.0.0.0/8"], client: "203.0.113.9"),
    Case(
      name: "a forged entry that names a proxy does not count", peer: "10.0.0.1", forwarded: ["10.9.9.9, 203.0.113.9"],
      trusted: ["10.0.0.0/8"], client: "203.0.113.9"),
    Case(
      name: "hops through several trusted proxies", peer: "10.0.0.1", forwarded: ["203.0.113.9, 10.0.0.3, 10.0.0.2"],
      trusted: ["10.0.0.0/8"], client: "203.0.113.9"),
    Case(
      name: "duplicate fields count as one list", peer: "10.0.0.1", forwarded: ["198.51.100.1", "203.0.113.9", "10.0.0.2"],
      trusted: ["10.0.0.0/8"], client: "203.0.113.9"),
    Case(
      name: "all hops trusted: the first is the client", peer: "10.0.0.1", forwarded: ["10.0.0.9, 10.0.0.2"],
      trusted: ["10.0.0.0/8"], client: "10.0.0.9"),
    Case(name: "a trusted peer without the header", peer: "10.0.0.1", trusted: ["10.0.0.0/8"], client: "10.0.0.1"),
    Case(name: "an empty header", peer: "10.0.0.1", forwarded: ["", " , "], trusted: ["10.0.0.0/8"], client: "10.0.0.1"),
    Case(
      name: "empty entries are skipped", peer: "10.0.0.1", forwarded: ["203.0.113.9, , 10.0.0.2,"], trusted: ["10.0.0.0/8"],
      client: "203.0.113.9"),
    Case(
      name: "rubbish hides what came before it", peer: "10.0.0.1", forwarded: ["203.0.113.9, <script>"], trusted: ["10.0.0.0/8"],
      client: "10.0.0.1"),
    Case(
      name: "an obfuscated hop hides what came before it", peer: "10.0.0.1", forwarded: ["203.0.113.9, _obf, 10.0.0.2"],
      trusted: ["10.0.0.0/8"], client: "10.0.0.2"),
    Case(
      name: "unknown hides what came before it", peer: "10.0.0.1", forwarded: ["203.0.113.9, unknown"], trusted: ["10.0.0.0/8"],
      client: "10.0.0.1"),
    Case(
      name: "IPv4 with a port", peer: "10.0.0.1", forwarded: ["203.0.113.9:4711"], trusted: ["10.0.0.0/8"], client: "203.0.113.9"),
    Case(
      name: "a port out of range is rubbish", peer: "10.0.0.1", forwarded: ["203.0.113.9:70000"], trusted: ["10.0.0.0/8"],
      client: "10.0.0.1"),
    Case(
      name: "IPv6, in its shortest form", peer: "::1", forwarded: ["2001:DB8:0:0:0:0:0:1"], trusted: ["::1"],
      client: "2001:db8::1"),
    Case(name: "IPv6 in brackets", peer: "::1", forwarded: ["[2001:db8::1]"], trusted: ["::1/128"], client: "2001:db8::1"),
    Case(
      name: "IPv6 in brackets with a port", peer: "::1", forwarded: ["[2001:db8::1]:443"], trusted: ["::1"], client: "2001:db8::1"
    ),
    Case(
      name: "quotes, as in Forwarded", peer: "::1", forwarded: ["\"[2001:db8::1]:443\""], trusted: ["::1"], client: "2001:db8::1"),
    Case(
      name: "brackets that do not close are rubbish", peer: "::1", forwarded: ["[2001:db8::1"], trusted: ["::1"], client: "::1"),
    Case(name: "IPv4 in brackets is rubbish", peer: "::1", forwarded: ["[203.0.113.9]"], trusted: ["::1"], client: "::1"),
    Case(name: "a zone id is rubbish", peer: "::1", forwarded: ["fe80::1%eth0"], trusted: ["::1"], client: "::1"),
    Case(
      name: "an IPv4-mapped peer is an IPv4 peer", peer: "::ffff:10.0.0.1", forwarded: ["203.0.113.9"], trusted: ["10.0.0.0/8"],
      client: "203.0.113.9"),
    Case(
      name: "an IPv4-mapped hop is an IPv4 client", peer: "10.0.0.1", forwarded: ["::ffff:203.0.113.9"], trusted: ["10.0.0.0/8"],
      client: "203.0.113.9"),
    Case(
      name: "a decimal address is rubbish", peer: "10.0.0.1", forwarded: ["3405803785"], trusted: ["10.0.0.0/8"],
      client: "10.0.0.1"),
    Case(
      name: "an octal address is rubbish", peer: "10.0.0.1", forwarded: ["0313.0.0161.011"], trusted: ["10.0.0.0/8"],
      client: "10.0.0.1"),
    Case(
      name: "a peer on a Unix socket that is trusted", peer: "unix", forwarded: ["203.0.113.9"], trusted: ["unix"],
      client: "203.0.113.9"),
    Case(
      name: "a peer on a Unix socket that is not", peer: "unix", forwarded: ["203.0.113.9"], trusted: ["127.0.0.0/8"],
      client: "unix"),
  ]

  @Test("B-17: the rightmost hop that is no trusted proxy is the client", arguments: cases)
  func resolves(_ example: Case) throws {
    let trusted = try example.trusted.map { try #require(NetworkPrefix(configurationText: $0)) }
    #expect(ClientAddress.resolve(peer: example.peer, forwardedFor: example.forwarded, trusted: trusted).text == example.client)
  }

  @Test("Limits count a whole /64 of IPv6 as one client, and each IPv4 address as its own")
  func limitKeys() {
    let key = { ClientAddress.resolve(peer: $0, forwardedFor: [], trusted: []).limitKey }
    #expect(key("2001:db8:1:2:aaaa::1") == key("2001:db8:1:2:bbbb::2"))
    #expect(key("2001:db8:1:2::1") != key("2001:db8:1:3::1"))
    #expect(key("192.0.2.1") != key("192.0.2.2"))
    #expect(key("::ffff:192.0.2.1") == "192.0.2.1")
  }

  @Test(
    "Networks are read in CIDR notation",
    arguments: [
      ("10.0.0.0/8", "10.0.0.0/8"), ("10.1.2.3", "10.1.2.3/32"), ("0.0.0.0/0", "0.0.0.0/0"), ("10.1.2.3/32", "10.1.2.3/32"),
      ("2001:db8::/32", "2001:db8::/32"), ("::1", "::1/128"), ("::/0", "::/0"), ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
      ("unix", "unix"),
    ])
  func networks(_ text: String, _ canonical: String) {
    #expect(NetworkPrefix(configurationText: text)?.configurationText == canonical)
  }

  @Test(
    "What is no network is refused, also one with bits beyond its length",
    arguments: [
      "", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.1/8", "10.0.0/8", "::1/129", "2001:db8::1/32", "host",
      "10.0.0.0/8/8", "::ffff:10.0.0.0/8",
    ])
  func noNetworks(_ text: String) {
    #expect(NetworkPrefix(configurationText: text) == nil)
  }

  @Test("A network contains the addresses from its first to its last and no other")
  func contains() throws {
    let network = try #require(NetworkPrefix(configurationText: "10.32.0.0/11"))
    let contains = { network.contains(NetworkPrefix.addressBytes($0) ?? []) }
    #expect(contains("10.32.0.0") && contains("10.63.255.255"))
    #expect(!contains("10.31.255.255") && !contains("10.64.0.0") && !contains("::1"))
  }
}
