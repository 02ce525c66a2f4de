import HTTP2
import TestSupport
import Testing

@Suite("TLS client certificates")
struct TLSClientCertificateTests {
  let parties = TLSParties()

  @Test("A required certificate is accepted and its names are told", arguments: [TLSConfiguration.Version.tls12, .tls13])
  func accepted(_ version: TLSConfiguration.Version) throws {
    let leaf = parties.authority.client(commonName: "billing", uris: ["spiffe://parley/billing"], names: ["billing.internal"])
    let server = try parties.server(clients: .required(parties.roots))
    let pair = try TLSPair(parties.client(leaf) { $0.maximumVersion = version }, server)
    pair.run()
    #expect(pair.server.state == .established)
    let certificate = try #require(pair.server.peerCertificate)
    #expect(certificate.commonName == "billing")
    #expect(certificate.uris == ["spiffe://parley/billing"])
    #expect(certificate.dnsNames == ["billing.internal"])
    #expect(certificate.der.first == 0x30 && certificate.der.count > 200)
    #expect(pair.client.peerCertificate?.dnsNames == ["localhost"])
  }

  @Test("A client without the required certificate is refused", arguments: [TLSConfiguration.Version.tls12, .tls13])
  func missing(_ version: TLSConfiguration.Version) throws {
    let server = try parties.server(clients: .required(parties.roots))
    let pair = try TLSPair(parties.client { $0.maximumVersion = version }, server)
    pair.run()
    #expect(pair.server.failure?.code == .certificateMissing)
    #expect(pair.client.failure?.code == .peerAlert)
  }

  @Test("A certificate of another authority is refused, also where none is required", arguments: [true, false])
  func wrongAuthority(_ isRequired: Bool) throws {
    let leaf = TestAuthority(commonName: "A stranger").client(commonName: "billing")
    let server = try parties.server(clients: isRequired ? .required(parties.roots) : .optional(parties.roots))
    let pair = try TLSPair(parties.client(leaf), server)
    pair.run()
    #expect(pair.server.failure?.code == .certificateUntrusted)
    #expect(pair.client.failure?.alert == 48)  // unknown_ca
  }

  @Test("A certificate for servers does not make a client")
  func purpose() throws {
    let server = try parties.server(clients: .required(parties.roots))
    let pair = try TLSPair(parties.client(parties.authority.server()), server)
    pair.run()
    #expect(pair.server.failure?.code == .certificateUntrusted)
  }

  @Test("Where a certificate is optional, a client without one gets in and has no certificate")
  func optional() throws {
    let pair = try TLSPair(parties.client(), parties.server(clients: .optional(parties.roots)))
    pair.run()
    #expect(pair.server.state == .established)
    #expect(pair.server.peerCertificate == nil)
  }

  @Test("A server that asks for none does not learn the client's certificate")
  func none() throws {
    let pair = try TLSPair(parties.client(parties.authority.client(commonName: "billing")), parties.server())
    pair.run()
    #expect(pair.server.state == .established)
    #expect(pair.server.peerCertificate == nil)
  }
}
