import EventLoop
import TestSupport
import Testing

@Suite("Sleeping on a loop that stops")
struct StoppedLoopTests {
  @Test("Who sleeps when the loop stops is woken with an error")
  func stoppedMeanwhile() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    let asleep = Signal()
    let task = Task.detached {
      try await withTaskExecutorPreference(loop) {
        loop.execute { asleep.fire() }
        try await loop.sleep(for: .seconds(3_600))
      }
    }
    try await asleep.wait()
    group.shutDown()
    let error = await #expect(throws: EventLoopError.self) { try await within(.seconds(30)) { try await task.value } }
    #expect(error?.code == .stopped)
  }

  @Test("Who wants to sleep on a loop that has stopped is told so")
  func stoppedBefore() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    group.shutDown()
    let error = await #expect(throws: EventLoopError.self) {
      try await within(.seconds(30)) { try await loop.sleep(for: .seconds(3_600)) }
    }
    #expect(error?.code == .stopped)
  }

  @Test("Who was cancelled before a loop that has stopped hears of it is not forgotten")
  func cancelledAfterStop() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    group.shutDown()
    let task = Task { try await loop.sleep(for: .seconds(3_600)) }
    task.cancel()
    await #expect(throws: (any Error).self) { try await within(.seconds(30)) { try await task.value } }
  }

  @Test("A loop stops although its tasks sleep one after the other")
  func sleepingOn() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    let begun = Signal()
    let errors = Tally("errors")
    loop.spawn {
      begun.fire()
      for _ in 0..<5 { do { try await loop.sleep(for: .seconds(3_600)) } catch { errors.add() } }
    }
    try await begun.wait()
    group.shutDown()
    try await errors.reaches(5)
  }
}
