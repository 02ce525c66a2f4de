import HTTP2
import TestSupport
import Testing

@Suite("TLS handshake")
struct TLSHandshakeTests {
  let parties = TLSParties()

  @Test("The newest version that both speak is used", arguments: [TLSConfiguration.Version.tls12, .tls13])
  func versions(_ newest: TLSConfiguration.Version) throws {
    let pair = try parties.connected(newest)
    #expect(pair.client.state == .established)
    #expect(pair.server.state == .established)
    #expect(pair.client.parameters.hasPrefix(newest == .tls13 ? "TLSv1.3 TLS_AES_128_GCM" : "TLSv1.2 ECDHE-ECDSA-AES128-GCM"))
    #expect(pair.client.applicationProtocol == "h2")
    #expect(pair.server.applicationProtocol == "h2")
  }

  @Test("A server that insists on TLS 1.3 refuses a client that speaks 1.2")
  func minimum() throws {
    let pair = try TLSPair(parties.client { $0.maximumVersion = .tls12 }, parties.server { $0.minimumVersion = .tls13 })
    pair.run()
    #expect(pair.server.failure?.code == .noCommonParameters)
    #expect(pair.client.failure?.code == .peerAlert)
    #expect(pair.client.failure?.alert == 70)  // protocol_version
  }

  @Test("The server's order of application protocols decides")
  func selection() throws {
    let client = try parties.client { $0.applicationProtocols = ["http/1.1", "h2"] }
    let pair = try TLSPair(client, parties.server { $0.applicationProtocols = ["h2", "http/1.1"] })
    pair.run()
    #expect(pair.client.applicationProtocol == "h2")
    let older = try TLSPair(
      parties.client { $0.applicationProtocols = ["http/1.1"] }, parties.server { $0.applicationProtocols = ["h2", "http/1.1"] })
    older.run()
    #expect(older.server.applicationProtocol == "http/1.1")
  }

  @Test("A client without h2 is refused with no_application_protocol", arguments: [["http/1.1"], []])
  func noProtocol(_ offered: [String]) throws {
    let pair = try TLSPair(parties.client { $0.applicationProtocols = offered }, parties.server())
    pair.run()
    #expect(pair.server.failure?.code == .noApplicationProtocol)
    #expect(pair.client.failure?.alert == 120)
  }

  @Test("A server that agrees to no protocol is refused by the client")
  func serverWithoutProtocol() throws {
    let pair = try TLSPair(parties.client(), parties.server { $0.applicationProtocols = [] })
    pair.run()
    #expect(pair.client.failure?.code == .noApplicationProtocol)
    let lenient = try TLSPair(
      parties.client { $0.requiresApplicationProtocol = false }, parties.server { $0.applicationProtocols = [] })
    lenient.run()
    #expect(lenient.client.state == .established)
    #expect(lenient.client.applicationProtocol == nil)
  }

  @Test(
    "A server's certificate must name what the client meant to reach",
    arguments: [
      ("api.example.com", true), ("API.example.com", true), ("api.example.com.", true), ("a.wild.example.com", true),
      ("127.0.0.1", true), ("::1", true), ("[::1]", true), ("example.com", false), ("other.example.com", false),
      ("a.b.wild.example.com", false), ("wild.example.com", false), ("127.0.0.2", false), ("::2", false),
    ])
  func names(_ name: String, _ isGood: Bool) throws {
    let leaf = parties.authority.server(names: ["api.example.com", "*.wild.example.com"], addresses: ["127.0.0.1", "::1"])
    let pair = try TLSPair(parties.client(name: nil), parties.server(leaf), serverName: name)
    pair.run()
    #expect((pair.client.state == .established) == isGood)
    guard !isGood else { return }
    #expect(pair.client.failure?.code == .serverNameMismatch)
    #expect(pair.server.failure?.code == .peerAlert)
  }

  @Test("A common name does not replace a subject alternative name")
  func commonName() throws {
    let leaf = parties.authority.server(names: [], addresses: ["127.0.0.1"])
    let pair = try TLSPair(parties.client(), parties.server(leaf), serverName: "localhost")
    pair.run()
    #expect(pair.client.failure?.code == .serverNameMismatch)
  }

  @Test(
    "A client without a name to verify, or with an impossible one, is not made", arguments: [nil, "", "a b", "a/b", ".x", "x\0y"])
  func impossibleNames(_ name: String?) throws {
    let context = try parties.client(name: nil)
    let error = #expect(throws: TLSError.self) { _ = try TLSEngine(context, serverName: name) }
    #expect(error?.code == .badConfiguration)
  }

  @Test("A server of an unknown authority is refused, also if the authority borrows a known name", arguments: [false, true])
  func unknownAuthority(_ borrowsName: Bool) throws {
    let stranger = borrowsName ? TestAuthority() : TestAuthority(commonName: "A stranger")
    let pair = try TLSPair(parties.client(), parties.server(stranger.server()))
    pair.run()
    #expect(pair.client.failure?.code == .certificateUntrusted)
    #expect(pair.server.failure?.alert == (borrowsName ? 51 : 48))  // decrypt_error, unknown_ca
    #expect(pair.server.state == .failed)
  }

  @Test("The system's trust roots do not hold a test's authority")
  func systemRoots() throws {
    let context = try TLSContext(.client(serverName: "localhost"))
    let pair = try TLSPair(context, parties.server())
    pair.run()
    #expect(pair.client.failure?.code == .certificateUntrusted)
  }

  @Test("A chain through an intermediate leads to the root, and without the intermediate does not")
  func intermediate() throws {
    let leaf = TestAuthority(below: parties.authority).server()
    let pair = try TLSPair(parties.client(), parties.server(leaf))
    pair.run()
    #expect(pair.client.state == .established)
    let end = Array("-----END CERTIFICATE-----\n".utf8)
    let first = leaf.certificateChain.indices.first { leaf.certificateChain[$0...].starts(with: end) }!
    let alone = TLSConfiguration.Identity(
      certificateChain: .bytes(Array(leaf.certificateChain[..<(first + end.count)])), privateKey: .bytes(leaf.privateKey))
    let broken = try TLSPair(parties.client(), TLSContext(.server(identity: alone)))
    broken.run()
    #expect(broken.client.failure?.code == .certificateUntrusted)
  }

  @Test("A certificate for clients does not make a server")
  func purpose() throws {
    let leaf = parties.authority.client(commonName: "localhost", names: ["localhost"])
    let pair = try TLSPair(parties.client(), parties.server(leaf))
    pair.run()
    #expect(pair.client.failure?.code == .certificateUntrusted)
  }

  @Test("Fed byte by byte, a handshake and its data come out the same", arguments: [TLSConfiguration.Version.tls12, .tls13])
  func byteByByte(_ version: TLSConfiguration.Version) throws {
    let pair = try TLSPair(parties.client { $0.maximumVersion = version }, parties.server())
    pair.chunk = 1
    pair.run()
    #expect(pair.client.state == .established)
    let message = Array("A sentence that crosses in single bytes".utf8)
    pair.clientWrites(message)
    pair.serverWrites(message.reversed())
    pair.run()
    #expect(pair.atServer == message)
    #expect(pair.atClient == message.reversed())
  }
}
