import Glibc
import HTTP2
import TestSupport
import Testing

@Suite("TLS memory", .serialized)
struct TLSMemoryTests {
  let parties = TLSParties()

  /// Bytes of this process that are in memory.
  private func resident() throws -> Int {
    let descriptor = open("/proc/self/statm", O_RDONLY)
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 128)
    let count = read(descriptor, &bytes, bytes.count)
    let fields = String(decoding: bytes[..<max(0, count)], as: UTF8.self).split(separator: " ")
    return try #require(Int(fields[1])) * 4_096
  }

  /// The smallest growth of several equal windows: other tests run meanwhile, but a leak is in every window.
  private func smallestGrowth(windows: Int, _ work: () throws -> Void) throws -> Int {
    var smallest = Int.max
    for _ in 0..<windows {
      let before = try resident()
      try work()
      smallest = min(smallest, try resident() - before)
    }
    return smallest
  }

  @Test("Thousands of handshakes leave nothing behind")
  func handshakes() throws {
    // A handshake of both sides costs OpenSSL 3.0 about 2 ms, so a run of 10,000 is asked for by name.
    let window = getenv("PARLEY_TLS_HANDSHAKES").flatMap { Int(String(cString: $0)) }.map { $0 / 4 } ?? 500
    let (clients, servers) = (try parties.client(), try parties.server())
    var good = 0
    func round() throws {
      let pair = try TLSPair(clients, servers)
      pair.run()
      pair.clientWrites([1, 2, 3])
      pair.run()
      if pair.atServer == [1, 2, 3] && pair.server.peerCertificate == nil && pair.client.peerCertificate != nil { good += 1 }
    }
    for _ in 0..<500 { try round() }
    let growth = try smallestGrowth(windows: 4) { for _ in 0..<window { try round() } }
    #expect(good == 500 + 4 * window)
    // The smallest object of a connection, its BIO, has more than 100 bytes.
    #expect(growth < (window * 100).withRoomForSanitizers, "\(growth) bytes more in \(window) handshakes")
  }

  @Test("Refused handshakes leave nothing behind")
  func refusals() throws {
    let (clients, servers) = (try parties.client(), try parties.server(TestAuthority().server()))
    var refused = 0
    func round() throws {
      let pair = try TLSPair(clients, servers)
      pair.run()
      if pair.client.failure?.code == .certificateUntrusted { refused += 1 }
    }
    for _ in 0..<500 { try round() }
    let growth = try smallestGrowth(windows: 4) { for _ in 0..<500 { try round() } }
    #expect(refused == 2_500)
    #expect(growth < (128 << 10).withRoomForSanitizers, "\(growth) bytes more in 500 handshakes")
  }

  @Test("Contexts that are made, refused and freed leave nothing behind")
  func contexts() throws {
    let leaf = parties.authority.server()
    let good = parties.identity(leaf)
    let bad = TLSConfiguration.Identity(
      certificateChain: .bytes(leaf.certificateChain), privateKey: .bytes(parties.authority.server().privateKey))
    func round() throws {
      _ = try TLSContext(.server(identity: good, clients: .required(parties.roots)))
      #expect(throws: TLSError.self) { _ = try TLSContext(.server(identity: bad)) }
    }
    for _ in 0..<200 { try round() }
    let growth = try smallestGrowth(windows: 4) { for _ in 0..<200 { try round() } }
    #expect(growth < (256 << 10).withRoomForSanitizers, "\(growth) bytes more in 400 contexts")
  }

  @Test("An idle connection keeps no buffers, before and after data: less than 20 KB an engine")
  func idle() async {
    // In a process of its own: what other suites allocate and free would be counted too.
    _ = await #expect(processExitsWith: .success) { try TLSMemoryTests().measureIdle() }
  }

  private func measureIdle() throws {
    let (clients, servers) = (try parties.client(), try parties.server())
    var engines: [TLSEngine] = []
    func connect(_ sendsData: Bool) throws {
      let pair = try TLSPair(clients, servers)
      pair.run()
      if sendsData {
        pair.clientWrites([UInt8](repeating: 1, count: 20_000))
        pair.serverWrites([UInt8](repeating: 2, count: 20_000))
        pair.run()
      }
      engines += [pair.client, pair.server]
    }
    for sendsData in [false, true] {
      for _ in 0..<50 { try connect(sendsData) }
      // The middle one of five windows: free memory from before makes the first small, a neighbour may make one large.
      let growth = try (0..<5).map { _ in
        let before = try resident()
        for _ in 0..<100 { try connect(sendsData) }
        return try resident() - before
      }
      let each = growth.sorted()[2] / 200
      #expect((4_000..<20_000.withRoomForSanitizers).contains(each), "\(each) bytes an engine")
      if getenv("PARLEY_TLS_FIGURES") != nil { print("TLS: \(each) bytes an idle engine, after data: \(sendsData)") }
    }
    #expect(engines.allSatisfy { $0.state == .established })
  }
}
