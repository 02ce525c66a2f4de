import COpenSSL
import EventLoop
import HTTP2
import RPC
import RPCClient
import RPCServer
import TestAPI
import TestSupport
import Testing

/// What a peer can do in TLS before and beneath HTTP/2.
@Suite("Hostile: TLS", .serialized)
struct TLSTests {
  /// What came of an attack.
  private struct Outcome: Sendable {
    var isShaken = false
    var isClosed = false
    var alert: Int32 = 0
  }

  /// Runs an attack while another client's calls are answered, and once more afterwards.
  private static func siege<Result: Sendable>(
    _ attack: @escaping @Sendable (SocketAddress) throws -> Result,
    _ verdict: @escaping @Sendable (Result, EchoServer) async throws -> Void
  ) async throws {
    try await EchoServer.call(tls: true) { client, server in
      let before = try await client.echo(.init(text: "before"))
      #expect(before.text == "before")
      async let attacking = TLSAttacker.thread.run { try attack(server.address) }
      for number in 0..<20 {
        let during = try await client.echo(.init(text: "\(number)"), options: .timeout(.seconds(10)))
        #expect(during.text == "\(number)")
      }
      try await verdict(await attacking, server)
      let after = try await client.echo(.init(text: "after"), options: .timeout(.seconds(10)))
      #expect(after.text == "after")
    }
  }

  /// Waits until no connection but `others` is open, and sees that one ended by a failure of TLS with this text.
  private static func ended(_ server: EchoServer, _ text: String, others: Int = 1) async throws {
    // The server tells why a connection ended before it counts it down.
    try await server.connections.wait { $0 == others }
    #expect(server.failures.contains { $0.code == .tlsFailed && "\($0)".contains(text) }, "\(server.failures)")
  }

  @Test("Hostile 24: a client that renegotiates is cut off")
  func renegotiation() async throws {
    try await Self.siege { address in
      let attacker = try TLSAttacker(address, .init(version: TLS1_2_VERSION))
      var outcome = Outcome(isShaken: attacker.handshake())
      SSL_renegotiate(attacker.ssl)
      _ = attacker.handshake()
      outcome.isClosed = attacker.readToEnd()
      return outcome
    } _: { outcome, server in
      #expect(outcome.isShaken && outcome.isClosed)
      try await Self.ended(server, "RENEGOTIATION")
    }
  }

  @Test(
    "Hostile 24: without ALPN, or with protocols that are none of ours, the handshake fails by its own alert",
    arguments: [[], Array("\u{8}http/1.1".utf8), Array("\u{2}h3\u{8}http/1.0".utf8)], [TLS1_2_VERSION, TLS1_3_VERSION])
  func noProtocol(_ protocols: [UInt8], _ version: Int32) async throws {
    try await Self.siege { address in
      let attacker = try TLSAttacker(address, .init(version: version, protocols: protocols))
      let isShaken = attacker.handshake()
      return Outcome(isShaken: isShaken, isClosed: attacker.readToEnd(), alert: attacker.alert)
    } _: { outcome, server in
      #expect(!outcome.isShaken && outcome.isClosed && outcome.alert == 120)  // no_application_protocol
      try await Self.ended(server, "NO_APPLICATION_PROTOCOL")
    }
  }

  /// What came of early data.
  private struct EarlyData: Sendable {
    /// What the server's ticket allows, in bytes.
    var promised: UInt32 = .max
    var isSent = false
    var isShaken = false
    var isRejected = false
  }

  @Test("Hostile 24: early data is promised by no ticket, and not read when a client sends it all the same")
  func earlyData() async throws {
    try await Self.siege { address in
      var outcome = EarlyData()
      let first = try TLSAttacker(address)
      guard first.handshake() else { return outcome }
      // Tickets come after the handshake, before the server's SETTINGS.
      first.write(HTTP2Frame.preface)
      var byte: UInt8 = 0
      guard first.readSome(&byte), let session = SSL_get1_session(first.ssl) else { return outcome }
      defer { SSL_SESSION_free(session) }
      outcome.promised = SSL_SESSION_get_max_early_data(session)
      SSL_SESSION_set_max_early_data(session, 4_096)
      let second = try TLSAttacker(address)
      SSL_set_session(second.ssl, session)
      var written = 0
      outcome.isSent = SSL_write_early_data(second.ssl, HTTP2Frame.preface, HTTP2Frame.preface.count, &written) == 1
      second.flush()
      outcome.isShaken = second.handshake()
      outcome.isRejected = SSL_get_early_data_status(second.ssl) == SSL_EARLY_DATA_REJECTED
      return outcome
    } _: { outcome, _ in
      #expect(outcome.promised == 0 && outcome.isSent && outcome.isShaken && outcome.isRejected)
    }
  }

  @Test("Hostile 24: a flood of KeyUpdates ends the connection")
  func keyUpdates() async throws {
    try await Self.siege { address in
      let attacker = try TLSAttacker(address)
      var outcome = Outcome(isShaken: attacker.handshake())
      attacker.updateKeys(20_000)
      outcome.isClosed = attacker.readToEnd()
      return outcome
    } _: { outcome, server in
      #expect(outcome.isShaken && outcome.isClosed)
      try await Self.ended(server, "POST_HANDSHAKE_FLOOD")
    }
  }

  /// A client certificate that must not be accepted, and what the server says of it.
  enum BadCertificate: String, CaseIterable {
    case none = "CERTIFICATE_MISSING"
    case stranger = "CERTIFICATE_UNTRUSTED"
    case expired = "CERTIFICATE_EXPIRED"
    case notYetValid = "CERTIFICATE_NOT_YET_VALID"

    func leaf(_ authority: TestAuthority) -> TestAuthority.Leaf? {
      switch self {
      case .none: nil
      case .stranger: TestAuthority(commonName: "A stranger").client(commonName: "x", names: ["x.internal"])
      case .expired: authority.client(commonName: "x", names: ["x.internal"], validity: .past)
      case .notYetValid: authority.client(commonName: "x", names: ["x.internal"], validity: .future)
      }
    }
  }

  @Test(
    "Hostile 24: a bad client certificate ends the connection, before anything of it is read",
    arguments: BadCertificate.allCases, [TLS1_2_VERSION, TLS1_3_VERSION])
  func badCertificate(_ bad: BadCertificate, _ version: Int32) async throws {
    let authority = TestAuthority()
    let leaf = authority.server()
    let context = try TLSContext(
      .server(
        identity: .init(certificateChain: .bytes(leaf.certificateChain), privateKey: .bytes(leaf.privateKey)),
        clients: .required(.certificates(.bytes(authority.certificate)))))
    let (identity, good) = (bad.leaf(authority), authority.client(commonName: "y", names: ["y.internal"]))
    try await EchoServer.run { server, _ in
      // A listener of its own, whose connections the server tells about like all others.
      let address = try server.server.listen(on: SocketAddress("127.0.0.1:0"), tls: context)
      let isClosed = try await TLSAttacker.thread.run {
        let attacker = try TLSAttacker(address, .init(version: version, identity: identity))
        // In TLS 1.3 the client is done before the server has judged.
        if attacker.handshake() { attacker.write(HTTP2Frame.preface) }
        return attacker.readToEnd()
      }
      #expect(isClosed)
      try await Self.ended(server, bad.rawValue, others: 0)
      let isShaken = try await TLSAttacker.thread.run {
        let client = try TLSAttacker(address, .init(version: version, identity: good))
        guard client.handshake() else { return false }
        client.write(HTTP2Frame.preface)
        var byte: UInt8 = 0
        // The server's SETTINGS.
        return client.readSome(&byte)
      }
      #expect(isShaken)
    }
  }
}
