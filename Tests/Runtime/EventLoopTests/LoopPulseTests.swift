import EventLoop
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("What a loop is doing")
struct LoopPulseTests {
  /// What the loop was at, as it saw itself.
  private static func inside(_ loop: EventLoop) async throws -> LoopPulse { try await loop.perform { loop.pulse } }

  /// The identities that tasks had.
  private final class Seen: Sendable {
    let begun = Mutex<UInt>(0)
    let resumed = Mutex<UInt>(0)
    let after = Mutex<UInt>(1)
    let count = Tally("looks")
  }

  @Test("A loop without work waits, and its turns are counted")
  func idle() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    let before = loop.pulse.turn
    try await loop.perform {}
    let deadline = MonotonicInstant.now().advanced(by: .seconds(20))
    while loop.pulse.phase != .waiting && MonotonicInstant.now() < deadline { sched_yield() }
    #expect(loop.pulse.phase == .waiting)
    #expect(loop.pulse.turn > before)
    group.shutDown()
  }

  @Test("Messages, timers and tasks each have a phase of their own")
  func phases() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    let seen = Mutex<[LoopPhase]>([])
    let done = Tally("phases")
    let note: @Sendable () -> Void = {
      seen.withLock { $0.append(loop.pulse.phase) }
      done.add()
    }
    loop.execute {
      note()
      let timer = LoopTimer()
      timer.onFire = {
        note()
        timer.onFire = {}
      }
      loop.arm(timer, after: .milliseconds(1))
    }
    try await done.reaches(2)
    try await loop.perform {
      try await loop.sleep(for: .milliseconds(1))
      note()
    }
    #expect(seen.withLock { $0 } == [.messages, .timers, .tasks])
    group.shutDown()
  }

  @Test("A resumed task is known by its identity, while its job runs and no longer")
  func identity() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    let seen = Seen()
    loop.execute {
      let task = Task.immediate(executorPreference: loop) {
        await withUnsafeContinuation { continuation in loop.execute { continuation.resume() } }
        seen.resumed.withLock { $0 = loop.pulse.task }
        seen.count.add()
      }
      seen.begun.withLock { $0 = EventLoop.identity(of: task) }
    }
    try await seen.count.reaches(1)
    let (task, job) = (seen.begun.withLock { $0 }, seen.resumed.withLock { $0 })
    #expect(task != 0 && task == job)
    loop.execute {
      seen.after.withLock { $0 = loop.pulse.task }
      seen.count.add()
    }
    try await seen.count.reaches(2)
    #expect(seen.after.withLock { $0 } == 0)
    group.shutDown()
  }
}
