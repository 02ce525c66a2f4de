import COpenSSL
import Glibc
import HTTP2
import TestSupport
import Testing

@Suite("Hostile TLS peers")
struct HostileTLSTests {
  let parties = TLSParties()

  @Test("Hostile 24: TLS 1.0 and 1.1 are refused", arguments: [TLS1_VERSION, TLS1_1_VERSION])
  func oldVersions(_ version: Int32) throws {
    let server = try ServerSide(parties.server())
    #expect(!server.connect(RawTLSClient(version: version)))
    #expect(server.engine.failure?.code == .noCommonParameters)
    let modern = try ServerSide(parties.server())
    #expect(modern.connect(RawTLSClient(version: TLS1_2_VERSION)))
  }

  @Test(
    "Hostile 24: a client that offers only CBC, RSA key exchange or no AEAD is refused",
    arguments: ["ECDHE-ECDSA-AES128-SHA", "AES128-GCM-SHA256"])
  func weakCiphers(_ suite: String) throws {
    let server = try ServerSide(parties.server())
    let client = RawTLSClient(version: TLS1_2_VERSION)
    #expect(SSL_set_cipher_list(client.ssl, suite) == 1)
    #expect(!server.connect(client))
    #expect(server.engine.failure?.code == .noCommonParameters)
  }

  @Test("Hostile 24: a client that renegotiates is refused and cut off")
  func renegotiation() throws {
    let server = try ServerSide(parties.server())
    let client = RawTLSClient(version: TLS1_2_VERSION)
    #expect(server.connect(client))
    #expect(SSL_renegotiate(client.ssl) == 1)
    #expect(!client.handshake())
    let hello = client.taken()
    #expect(!hello.isEmpty)
    let alert = server.feed(hello)
    #expect(server.engine.state == .failed)
    #expect(server.engine.failure?.code == .renegotiation)
    #expect(!alert.isEmpty)
  }

  @Test("Hostile 24: 64 KeyUpdates without data pass, the 65th ends the connection")
  func keyUpdateFlood() throws {
    let server = try ServerSide(parties.server())
    let client = RawTLSClient(version: TLS1_3_VERSION)
    #expect(server.connect(client))
    for _ in 0..<Int(TLSLimits.postHandshakeMessages) {
      client.updateKeys()
      client.given(server.feed(client.taken()))
      #expect(server.engine.state == .established)
    }
    client.write([1, 2, 3])
    server.feed(client.taken())
    #expect(server.plaintext == [1, 2, 3])
    client.updateKeys()
    client.write([4])
    server.feed(client.taken())
    #expect(server.engine.failure?.code == .postHandshakeFlood)
    #expect(server.plaintext == [1, 2, 3])
  }

  @Test("Hostile 24: a flood of KeyUpdates in one read stops at the bound and answers with little")
  func keyUpdateBurst() throws {
    let server = try ServerSide(parties.server())
    let client = RawTLSClient(version: TLS1_3_VERSION)
    #expect(server.connect(client))
    for _ in 0..<10_000 { client.updateKeys() }
    let flood = client.taken()
    #expect(flood.count > 200_000)
    let answer = server.feed(flood)
    #expect(server.engine.failure?.code == .postHandshakeFlood)
    #expect(answer.count < 4_096)
  }

  @Test("Hostile 24: KeyUpdates between megabytes of data go on for ever")
  func honestKeyUpdates() throws {
    let server = try ServerSide(parties.server())
    let client = RawTLSClient(version: TLS1_3_VERSION)
    #expect(server.connect(client))
    let megabyte = [UInt8](repeating: 7, count: TLSLimits.plaintextPerRefill)
    for _ in 0..<10 {
      for _ in 0..<Int(TLSLimits.postHandshakeMessages / 2) { client.updateKeys() }
      for start in stride(from: 0, to: megabyte.count, by: 16_384) { client.write(Array(megabyte[start..<(start + 16_384)])) }
      var bytes = client.taken()
      while !bytes.isEmpty {
        client.given(server.feed(bytes))
        bytes = client.taken()
      }
    }
    #expect(server.engine.state == .established)
    #expect(server.plaintext.count == 10 * megabyte.count)
  }

  @Test("Hostile 24: a ticket continues a session, and does not allow early data", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
  func tickets(_ version: Int32) throws {
    let context = try parties.server()
    let first = RawTLSClient(version: version)
    #expect(try ServerSide(context).connect(first))
    let session = try #require(SSL_get1_session(first.ssl))
    defer { SSL_SESSION_free(session) }
    #expect(SSL_SESSION_is_resumable(session) == 1)
    #expect(SSL_SESSION_get_max_early_data(session) == 0)
    let second = RawTLSClient(version: version)
    SSL_set_session(second.ssl, session)
    let server = try ServerSide(context)
    #expect(server.connect(second))
    #expect(server.engine.isResumed)
    // Another context has other keys: a whole handshake, not an error.
    let third = RawTLSClient(version: version)
    SSL_set_session(third.ssl, session)
    let other = try ServerSide(parties.server())
    #expect(other.connect(third))
    #expect(!other.engine.isResumed)
  }

  @Test(
    "Hostile 24: a server that asks for client certificates gives out no tickets", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
  func noTickets(_ version: Int32) throws {
    let client = RawTLSClient(version: version)
    #expect(try ServerSide(parties.server(clients: .optional(parties.roots))).connect(client))
    let session = try #require(SSL_get1_session(client.ssl))
    defer { SSL_SESSION_free(session) }
    #expect(SSL_SESSION_has_ticket(session) == 0)
  }

  @Test("Hostile 24: garbage gives an error and never a crash")
  func garbage() throws {
    let seed: UInt64 = 0x5EED
    var state = seed
    func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
    let context = try parties.server()
    // Plain HTTP, plain HTTP/2, an oversized record, a record of an unknown kind.
    let openings: [[UInt8]] = [
      Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8), [22, 3, 1, 255, 255, 1],
      [99, 3, 3, 0, 5, 1, 2, 3, 4, 5],
    ]
    for opening in openings {
      let server = try ServerSide(context)
      server.feed(opening)
      #expect(server.engine.state == .failed, "\(opening.prefix(6))")
      #expect(server.engine.failure?.code == .protocolViolation || server.engine.failure?.code == .noCommonParameters)
      #expect(server.feed([1, 2, 3]).isEmpty)
    }
    for _ in 0..<200 {
      let server = try ServerSide(context)
      var bytes = (0..<600).map { _ in UInt8(truncatingIfNeeded: next()) }
      // Half of them begin like a handshake record, to get further in.
      if next() % 2 == 0 { bytes.replaceSubrange(0..<6, with: [22, 3, 1, 1, 0, 1]) }
      server.feed(bytes)
      #expect(server.engine.state == .failed, "seed \(seed)")
    }
  }

  @Test("Hostile 24: a flipped bit anywhere in a flight ends the connection or changes nothing")
  func flippedBits() throws {
    let (clients, servers) = (try parties.client(), try parties.server())
    let length = try TLSPair(clients, servers).toServer.count
    for index in stride(from: 0, to: length, by: 3) {
      let pair = try TLSPair(clients, servers)
      pair.toServer[index] ^= 1 << UInt8(index % 8)
      pair.run()
      #expect(!(pair.client.state == .established && pair.server.state == .established), "byte \(index)")
    }
    let pair = try parties.connected()
    pair.clientWrites(Array("untouched?".utf8))
    pair.toServer[pair.toServer.count - 3] ^= 4
    pair.run()
    #expect(pair.server.state == .failed)
    #expect(pair.atServer.isEmpty)
    #expect(pair.client.failure?.alert == 20)  // bad_record_mac
  }

  @Test("Hostile 24: a failed engine stays failed")
  func stillness() throws {
    let pair = try parties.connected()
    pair.toServer = [23, 3, 3, 0, 32] + [UInt8](repeating: 0, count: 32)
    pair.run()
    #expect(pair.server.state == .failed)
    let failure = pair.server.failure
    pair.serverCloses()
    #expect(pair.toClient.isEmpty)
    pair.server.transportEnded()
    #expect(pair.server.failure == failure)
  }
}
