import EventLoop
import TestSupport
import Testing

@Suite("The time of a tick")
struct TickTimeTests {
  // SAFETY: touched on its loop only.
  private final class Times: @unchecked Sendable {
    var seen: [MonotonicInstant] = []
  }

  @Test("Whoever is told of a descriptor sees the time at which the wait ended, not the one at which it began (RF-02)")
  func descriptor() async throws {
    let group = try EventLoopGroup(count: 1, name: "tick")
    let loop = group.loops[0]
    let times = Times()
    let pipe = try Pipe()
    let reader = PipeReader(pipe)
    let told = Tally("events")
    reader.onReady = { _ in
      times.seen.append(loop.now)
      told.add()
    }
    try await loop.perform { reader.watch = try loop.watch(pipe.reading, for: .readable, reader) }
    // From here on the loop has nothing to do but to wait, in its tick's step before the one that tells of descriptors.
    var written: [MonotonicInstant] = []
    for number in 1...20 {
      written.append(.now())
      pipe.write(1)
      try await told.reaches(number)
    }
    let seen = try await loop.perform {
      reader.watch?.cancel()
      return times.seen
    }
    group.shutDown()
    pipe.close()
    #expect(seen.count == written.count)
    for (time, sent) in zip(seen, written) { #expect(time >= sent) }
  }
}
