import EventLoop
import Synchronization
import TestSupport
import Testing

@Suite("Timers")
struct TimerTests {
  private func onLoop(_ body: @escaping @Sendable (EventLoop) async throws -> Void) async throws {
    let group = try EventLoopGroup(count: 1, name: "timer")
    let loop = group.loops[0]
    let result: Result<Void, any Error>
    do { result = .success(try await loop.perform { try await body(loop) }) } catch { result = .failure(error) }
    group.shutDown()
    try result.get()
  }

  @Test("Ten thousand timers fire once each, in the order of their deadlines, those taken back never")
  func many() async throws {
    try await onLoop { loop in
      let fired = Mutex<[Int]>([])
      let start = MonotonicInstant.now().advanced(by: .milliseconds(20))
      let order = (0..<10_000).shuffled()
      var timers: [LoopTimer] = []
      for number in order {
        let timer = LoopTimer { fired.withLock { $0.append(number) } }
        loop.arm(timer, at: start.advanced(by: .microseconds(number)))
        timers.append(timer)
      }
      for (index, number) in order.enumerated() where number % 3 == 0 { loop.disarm(timers[index]) }
      try await loop.sleep(until: start.advanced(by: .milliseconds(15)))
      #expect(fired.withLock { $0 } == (0..<10_000).filter { $0 % 3 != 0 })
      #expect(timers.allSatisfy { !$0.isArmed })
    }
  }

  @Test("A timer that is armed again moves, forwards and back")
  func move() async throws {
    try await onLoop { loop in
      let order = Mutex<[String]>([])
      let now = MonotonicInstant.now()
      let early = LoopTimer { order.withLock { $0.append("early") } }
      let late = LoopTimer { order.withLock { $0.append("late") } }
      loop.arm(early, at: now.advanced(by: .milliseconds(5)))
      loop.arm(late, at: now.advanced(by: .milliseconds(20)))
      loop.arm(early, at: now.advanced(by: .milliseconds(15)))
      loop.arm(late, at: now.advanced(by: .milliseconds(10)))
      try await loop.sleep(until: now.advanced(by: .milliseconds(40)))
      #expect(order.withLock { $0 } == ["late", "early"])
    }
  }

  @Test("Thousands of timers that are moved, taken back and armed again fire in the order of their last deadlines")
  func moves() async throws {
    try await onLoop { loop in
      let fired = Mutex<[Int]>([])
      let start = MonotonicInstant.now().advanced(by: .milliseconds(200))
      var random = SystemRandomNumberGenerator()
      let timers = (0..<3000).map { number in LoopTimer { fired.withLock { $0.append(number) } } }
      var due: [Int: UInt64] = [:]
      for _ in 0..<20_000 {
        let number = Int.random(in: 0..<timers.count, using: &random)
        if Int.random(in: 0..<4, using: &random) == 0 {
          loop.disarm(timers[number])
          due[number] = nil
        } else {
          // No two are due at the same moment.
          let moment = UInt64.random(in: 0..<5_000, using: &random) * 4_096 + UInt64(number)
          loop.arm(timers[number], at: MonotonicInstant(nanoseconds: start.nanoseconds + moment))
          due[number] = moment
        }
      }
      try await loop.sleep(until: start.advanced(by: .milliseconds(30)))
      #expect(fired.withLock { $0 } == due.sorted { $0.value < $1.value }.map(\.key))
      #expect(timers.allSatisfy { !$0.isArmed })
    }
  }

  @Test("A loop lets go of the timers that were armed when it ended")
  func letGo() throws {
    final class Witness: Sendable {}
    weak var witness: Witness?
    do {
      let loop = try EventLoop()
      let kept = Witness()
      witness = kept
      loop.execute {
        let timer = LoopTimer { _ = kept }
        loop.arm(timer, after: .seconds(3600))
        loop.stop()
      }
      LoopThread(name: "timer") { loop.run() }.join()
    }
    #expect(witness == nil)
  }

  @Test("A timer that arms itself in the past does not keep the loop from its tasks")
  func selfArming() async throws {
    try await onLoop { loop in
      let rounds = Mutex(0)
      let timer = LoopTimer()
      timer.onFire = {
        let round = rounds.withLock { count in
          count += 1
          return count
        }
        // Without an end of its own it would turn a defect into a hang.
        if round < 200_000 { loop.arm(timer, at: MonotonicInstant(nanoseconds: 0)) }
      }
      loop.arm(timer, at: MonotonicInstant(nanoseconds: 0))
      try await loop.sleep(for: .milliseconds(2))
      #expect(rounds.withLock { $0 } < 200_000)
      loop.disarm(timer)
      timer.onFire = {}
    }
  }

  @Test("A sleep is as long as it should be, and none at all in the past")
  func sleepLength() async throws {
    try await onLoop { loop in
      let start = MonotonicInstant.now()
      try await loop.sleep(for: .milliseconds(30))
      let elapsed = MonotonicInstant.now().duration(since: start)
      #expect(elapsed >= .milliseconds(30) && elapsed < .seconds(2))
      try await loop.sleep(until: MonotonicInstant(nanoseconds: 0))
      try await loop.sleep(for: .seconds(-5))
    }
  }

  @Test("A sleep that is cancelled before or while it lasts throws at once", arguments: [true, false])
  func cancelled(_ before: Bool) async throws {
    try await onLoop { loop in
      let thrown = Tally("cancelled sleeps")
      let asleep = Tally("sleepers")
      let task = loop.spawn {
        if before { while !Task.isCancelled { await Task.yield() } }
        asleep.add()
        do { try await loop.sleep(for: .seconds(600)) } catch is CancellationError { thrown.add() } catch {}
      }
      if before { task.cancel() } else { try await asleep.reaches(1) }
      task.cancel()
      await task.value
      #expect(thrown.value == 1)
    }
  }

  @Test("A sleep cancelled from another thread at any moment ends exactly once")
  func cancelledFromElsewhere() async throws {
    try await onLoop { loop in
      for round in 0..<300 {
        let task = loop.spawn { try? await loop.sleep(for: round % 2 == 0 ? .microseconds(50) : .seconds(600)) }
        let canceller = LoopThread(name: "canceller") { task.cancel() }
        await task.value
        canceller.join()
      }
    }
  }

  @Test("Instants and durations saturate instead of wrapping")
  func arithmetic() {
    let now = MonotonicInstant.now()
    #expect(now.advanced(by: .seconds(Int64.max)) > now)
    #expect(now.advanced(by: .seconds(-Int64.max)) == MonotonicInstant(nanoseconds: 0))
    #expect(MonotonicInstant.distantFuture.advanced(by: .seconds(1)) == .distantFuture)
    #expect(now.duration(since: now.advanced(by: .seconds(2))) == .seconds(-2))
    #expect(Duration.seconds(Int64.max).saturatingNanoseconds == .max)
    #expect(Duration.seconds(Int64.min).saturatingNanoseconds == .min)
    #expect(Duration.nanoseconds(-1).saturatingNanoseconds == -1)
  }
}
