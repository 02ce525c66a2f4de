import RPC
import Testing

@Suite("Who a peer is by its certificate")
struct PeerIdentityTests {
  @Test("A SPIFFE identity comes before DNS names, and those in lower case")
  func order() {
    let spiffe = PeerIdentity(uris: ["spiffe://parley/billing"], dnsNames: ["billing.internal"])
    #expect(spiffe?.kind == .spiffe && spiffe?.names == ["spiffe://parley/billing"] && spiffe?.name == "spiffe://parley/billing")
    let dns = PeerIdentity(uris: [], dnsNames: ["Billing.Internal", "b.internal"])
    #expect(dns?.kind == .dns && dns?.names == ["billing.internal", "b.internal"] && dns?.description == "billing.internal")
    // Another scheme says nothing of who somebody is.
    #expect(PeerIdentity(uris: ["https://parley/billing"], dnsNames: ["b.internal"])?.name == "b.internal")
  }

  @Test("A certificate that names nobody, or somebody in an ambiguous way, gives no identity")
  func none() {
    #expect(PeerIdentity(uris: [], dnsNames: []) == nil)
    #expect(PeerIdentity(uris: ["https://parley/billing"], dnsNames: []) == nil)
    #expect(PeerIdentity(uris: ["spiffe://parley/a", "spiffe://parley/b"], dnsNames: ["b.internal"]) == nil)
    #expect(PeerIdentity(uris: ["https://parley/billing", "spiffe://parley/a"], dnsNames: ["b.internal"]) == nil)
    #expect(PeerIdentity(uris: ["SPIFFE://parley/a"], dnsNames: ["b.internal"]) == nil)
  }

  @Test(
    "What is no SPIFFE identity is none",
    arguments: [
      ("spiffe://parley/billing", true), ("spiffe://parley", true), ("spiffe://a.b-c_1/x", true), ("spiffe://", false),
      ("spiffe:///billing", false), ("spiffe://Parley/billing", false), ("spiffe://user@parley/x", false),
      ("spiffe://parley:80/x", false), ("spiffe://parley/a b", false), ("spiffe://parley/é", false), ("http://parley/x", false),
      ("spiffe://parley/" + String(repeating: "x", count: 2_032), true),
      ("spiffe://parley/" + String(repeating: "x", count: 2_033), false),
      ("spiffe://" + String(repeating: "a", count: 255), true), ("spiffe://" + String(repeating: "a", count: 256), false),
    ])
  func spiffe(_ text: String, _ isOne: Bool) {
    #expect(PeerIdentity.isSPIFFE(text) == isOne)
    #expect((PeerIdentity(uris: [text], dnsNames: []) != nil) == isOne)
  }

  @Test("One name of several is enough, letter by letter; a wildcard stands for itself")
  func policy() throws {
    let identity = try #require(PeerIdentity(uris: [], dnsNames: ["a.internal", "*.b.internal"]))
    #expect(identity.isAny(of: ["a.internal"]) && identity.isAny(of: ["x", "*.b.internal"]))
    #expect(!identity.isAny(of: ["x.b.internal"]) && !identity.isAny(of: ["A.internal"]) && !identity.isAny(of: []))
  }
}
