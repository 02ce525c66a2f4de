import Synchronization
import Testing

@testable import Outbound

@Suite("What has come and is not read yet")
struct IncomingBodyTests {
  private func take(_ count: Int, _ body: IncomingBody) -> Bool {
    [UInt8](repeating: 7, count: count).withUnsafeBytes { body.take($0) }
  }

  @Test("The peer is held back once there is enough, and goes on when it was read")
  func heldBack() async throws {
    let resumptions = Mutex(0)
    let body = IncomingBody { resumptions.withLock { $0 += 1 } }
    for _ in 0..<IncomingBody.capacity / 16_384 { #expect(take(16_384, body)) }
    for _ in 0..<3 { #expect(!take(1, body)) }
    #expect(resumptions.withLock { $0 } == 0)
    #expect(try await body.next()?.count == IncomingBody.capacity)
    #expect(resumptions.withLock { $0 } == 1)
    #expect(take(5, body))
    #expect(try await body.next()?.count == 5)
    #expect(resumptions.withLock { $0 } == 1)
  }

  @Test("What came before the end is read before it", arguments: [true, false])
  func end(well: Bool) async throws {
    let body = IncomingBody {}
    #expect(take(3, body))
    body.end(well ? .success(()) : .failure(OutboundError(.connectionLost, "gone")))
    body.end(.failure(OutboundError(.cancelled, "later")))
    #expect(try await body.next() == [7, 7, 7])
    if well {
      #expect(try await body.next() == nil)
    } else {
      let error = await #expect(throws: OutboundError.self) { try await body.next() }
      #expect(error?.code == .connectionLost)
    }
  }

  @Test("Who waits is woken by bytes, and by being cancelled")
  func woken() async throws {
    let body = IncomingBody {}
    async let piece = body.next()
    #expect(take(2, body))
    #expect(try await piece == [7, 7])
    let waiting = Task { try await body.next() }
    waiting.cancel()
    let error = await #expect(throws: OutboundError.self) { try await waiting.value }
    #expect(error?.code == .cancelled)
  }
}
