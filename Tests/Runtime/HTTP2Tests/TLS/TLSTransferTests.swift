import HTTP2
import TestSupport
import Testing

@Suite("TLS transfer")
struct TLSTransferTests {
  let parties = TLSParties()

  /// Bytes that differ from place to place (xorshift), the same for the same seed.
  private func noise(_ count: Int, seed: UInt64) -> [UInt8] {
    var state = seed
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      for index in 0..<count {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        buffer[index] = UInt8(truncatingIfNeeded: state)
      }
      filled = count
    }
  }

  @Test(
    "10 MB cross both ways intact, however they are cut", arguments: [(1_460, 70_000), (65_536, 16_384), (Int.max, 1_000_003)])
  func tenMegabytes(_ chunk: Int, _ piece: Int) throws {
    let pair = try parties.connected()
    pair.chunk = chunk
    let up = noise(10_000_000, seed: 1)
    let down = noise(10_000_000, seed: 2)
    var offset = 0
    while offset < up.count {
      let end = min(offset + piece, up.count)
      pair.clientWrites(Array(up[offset..<end]))
      pair.serverWrites(Array(down[offset..<end]))
      pair.run()
      offset = end
    }
    #expect(pair.atServer == up)
    #expect(pair.atClient == down)
  }

  @Test("Around the size of a record nothing is lost", arguments: [1, 16_383, 16_384, 16_385, 32_768, 32_769])
  func recordSizes(_ count: Int) throws {
    for version in [TLSConfiguration.Version.tls12, .tls13] {
      let pair = try parties.connected(version)
      let bytes = noise(count, seed: UInt64(count))
      pair.clientWrites(bytes)
      pair.run()
      #expect(pair.atServer == bytes)
    }
  }

  @Test("A small plaintext buffer gets a record in parts")
  func smallBuffer() throws {
    let pair = try parties.connected()
    let bytes = noise(5_000, seed: 3)
    pair.clientWrites(bytes)
    let output = TLSOutput()
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 7, alignment: 1)
    defer { room.deallocate() }
    var got: [UInt8] = []
    pair.toServer.withUnsafeBytes { all in
      var input = all
      while case .plaintext(let count) = pair.server.receive(&input, into: room, output: output) {
        got += UnsafeRawBufferPointer(rebasing: room[..<count])
      }
    }
    #expect(got == bytes)
    #expect(pair.server.state == .established)
  }

  @Test("A close with close_notify is clean, and data before it arrives", arguments: [TLSConfiguration.Version.tls12, .tls13])
  func cleanClose(_ version: TLSConfiguration.Version) throws {
    let pair = try parties.connected(version)
    pair.clientWrites([1, 2, 3])
    pair.clientCloses()
    pair.clientCloses()
    pair.run()
    #expect(pair.atServer == [1, 2, 3])
    #expect(pair.server.state == .closed)
    pair.server.transportEnded()
    #expect(pair.server.state == .closed)
    pair.serverCloses()
    pair.run()
    #expect(pair.client.state == .closed)
    #expect(pair.client.failure == nil)
  }

  @Test("After the peer's close_notify the own side can still send what is left (TLS 1.3)")
  func halfClose() throws {
    let pair = try parties.connected()
    pair.clientCloses()
    pair.run()
    #expect(pair.server.state == .closed)
    pair.serverWrites([7, 8, 9])
    pair.serverCloses()
    pair.run()
    #expect(pair.atClient == [7, 8, 9])
    #expect(pair.client.state == .closed)
  }

  @Test("An end without close_notify is a truncation")
  func truncation() throws {
    let pair = try parties.connected()
    pair.clientWrites([1, 2, 3])
    pair.toServer.removeLast()
    pair.run()
    pair.server.transportEnded()
    #expect(pair.server.state == .failed)
    #expect(pair.server.failure?.code == .truncated)
    let unfinished = try TLSPair(parties.client(), parties.server())
    unfinished.deliverToServer()
    unfinished.server.transportEnded()
    #expect(unfinished.server.failure?.code == .truncated)
  }

  @Test("Nothing is written before the handshake's end, after close_notify, or after a failure")
  func writesOutOfTurn() throws {
    let output = TLSOutput()
    func writes(_ engine: TLSEngine) -> Bool { [UInt8(1), 2, 3].withUnsafeBytes { engine.write($0, output: output) } }
    let early = try TLSPair(parties.client(), parties.server())
    #expect(!writes(early.client) && !writes(early.server))
    let closing = try parties.connected()
    closing.clientCloses()
    #expect(!writes(closing.client))
    let failed = try parties.connected()
    failed.server.transportEnded()
    #expect(!writes(failed.server))
    #expect(output.isEmpty)
    let fine = try parties.connected()
    #expect(writes(fine.client) && !output.isEmpty)
  }

  @Test("What the socket did not take stays in the output, in order")
  func partialFlush() throws {
    let output = TLSOutput()
    let pair = try parties.connected()
    let bytes = noise(40_000, seed: 4)
    _ = bytes.withUnsafeBytes { pair.client.write($0, output: output) }
    while !output.isEmpty {
      let count = min(999, output.count)
      pair.toServer += UnsafeRawBufferPointer(rebasing: output.bytes[..<count])
      output.removeFirst(count)
    }
    pair.run()
    #expect(pair.atServer == bytes)
  }
}
