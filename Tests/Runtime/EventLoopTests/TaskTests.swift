import EventLoop
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("Tasks on a loop")
struct TaskTests {
  actor Counter {
    private(set) var value = 0
    private(set) var wasElsewhere = false

    func add(expecting loop: EventLoop) {
      value += 1
      if !loop.isCurrent { wasElsewhere = true }
    }
  }

  @concurrent
  private static func concurrently(_ loop: EventLoop) async -> Bool {
    await Task.yield()
    return loop.isCurrent
  }

  @Test("A task stays on its loop through suspension, sleep, groups, async let, actors and @concurrent")
  func staysOnLoop() async throws {
    let group = try EventLoopGroup(count: 2, name: "stay")
    let loop = group.loops[1]
    try await loop.perform {
      #expect(loop.isCurrent && EventLoop.current === loop)
      await Task.yield()
      #expect(loop.isCurrent)
      try await loop.sleep(for: .milliseconds(2))
      #expect(loop.isCurrent)
      await withTaskGroup(of: Bool.self) { tasks in
        for _ in 0..<50 {
          tasks.addTask {
            await Task.yield()
            return loop.isCurrent
          }
        }
        for await isCurrent in tasks { #expect(isCurrent) }
      }
      async let left = Self.concurrently(loop)
      async let right = Self.concurrently(loop)
      #expect(await [left, right] == [true, true])
      #expect(await Self.concurrently(loop))
      let counter = Counter()
      for _ in 0..<10 { await counter.add(expecting: loop) }
      #expect(await counter.value == 10)
      #expect(await !counter.wasElsewhere)
      #expect(loop.isCurrent)
    }
    #expect(EventLoop.current == nil)
    group.shutDown()
  }

  @Test("A task that another thread resumes goes on on its loop")
  func resumedElsewhere() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    try await loop.perform {
      for _ in 0..<200 {
        var other: LoopThread?
        await withCheckedContinuation { continuation in
          other = LoopThread(name: "other") { continuation.resume() }
        }
        #expect(loop.isCurrent)
        other?.join()
      }
    }
    group.shutDown()
  }

  @Test("Host runs its body on the loop and returns where it came from")
  func host() async throws {
    let group = try EventLoopGroup(count: 2)
    let (first, second) = (group.loops[0], group.loops[1])
    try await first.perform {
      for _ in 0..<100 {
        #expect(await second.visit { second.isCurrent })
        #expect(first.isCurrent)
      }
      await #expect(throws: CancellationError.self) { try await second.visit { throw CancellationError() } }
    }
    #expect(await first.visit { first.isCurrent })
    #expect(EventLoop.current == nil)
    group.shutDown()
  }

  /// Comes back from the loop on the loop's thread, when nobody else was at work for it meanwhile.
  private actor Visitor {
    func stays(on loop: EventLoop) async -> Bool {
      _ = await loop.visit { loop.load }
      return await loop.visit {
        for _ in 0..<20 {
          await Task.yield()
          guard loop.isCurrent else { return false }
        }
        return true
      }
    }
  }

  @Test("An actor's visit stays on the loop, also when the thread that it comes from is the loop's own")
  func actors() async throws {
    let group = try EventLoopGroup(count: 1)
    for _ in 0..<100 { #expect(await Visitor().stays(on: group.loops[0])) }
    // The last visit may leave the test on the loop's own thread, which cannot wait for its own end.
    await Task.detached { group.shutDown() }.value
  }

  @Test("No wake-up is lost when four threads send 20,000 messages each")
  func contention() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    let seen = Tally("messages")
    let threads = (0..<4).map { _ in
      LoopThread(name: "sender") { for _ in 0..<20_000 { loop.execute { seen.add() } } }
    }
    try await seen.reaches(80_000)
    for thread in threads { thread.join() }
    // One at a time, each sent to a loop that sleeps: the case in which a wake-up could get lost.
    for number in 1...500 {
      loop.execute { seen.add() }
      try await seen.reaches(80_000 + number)
    }
    group.shutDown()
  }

  @Test("A task that yields for ever starves neither timers nor messages nor descriptors")
  func yielding() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    let done = Tally("ends asked for")
    let rounds = Tally("rounds")
    let spinner = loop.spawn {
      while done.value == 0 { await Task.yield() }
      rounds.add()
    }
    try await loop.perform {
      try await loop.sleep(for: .milliseconds(5))
      let pipe = try Pipe()
      let reader = PipeReader(pipe)
      reader.watch = try loop.watch(pipe.reading, for: .readable, reader)
      pipe.write(3)
      try await reader.seen.reaches(3)
      reader.watch?.cancel()
      pipe.close()
    }
    done.add()
    await spinner.value
    group.shutDown()
    #expect(rounds.value == 1)
  }

  @Test("Many tasks that each take a while do not keep the loop from its descriptors until the last of them is done (JF-08)")
  func longTurn() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    let ran = Tally("tasks done")
    let before = Mutex(-1)
    let pipe = try Pipe()
    try await loop.perform {
      let reader = PipeReader(pipe)
      reader.onReady = { _ in before.withLock { if $0 < 0 { $0 = ran.value } } }
      reader.watch = try loop.watch(pipe.reading, for: .readable, reader)
      for number in 0..<64 {
        // Queued, all of them, before the first one runs.
        Task(executorPreference: loop) {
          if number == 0 { pipe.write(1) }
          let end = MonotonicInstant.now().advanced(by: .milliseconds(3))
          while MonotonicInstant.now() < end {}
          ran.add()
        }
      }
      try await ran.reaches(64)
      try await reader.seen.reaches(1)
      reader.watch?.cancel()
    }
    // The clock is looked at after every fourth task, when more time than a turn's is over.
    #expect((1...8).contains(before.withLock { $0 }))
    pipe.close()
    group.shutDown()
  }

  private final class Turns: Sendable {
    let list = Mutex<[Int]>([])
  }

  @Test("A loop's own yield lets others have their turn, descriptors too, and stays on the loop")
  func loopYield() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    try await loop.perform {
      let turns = Turns()
      let tasks = (0..<3).map { number in
        loop.spawn {
          for _ in 0..<20 {
            turns.list.withLock { $0.append(number) }
            await EventLoop.yield()
            #expect(loop.isCurrent)
          }
        }
      }
      for task in tasks { await task.value }
      let order = turns.list.withLock { $0 }
      // Nobody has a second turn before all have had theirs.
      for start in stride(from: 0, to: 60, by: 3) { #expect(Set(order[start..<start + 3]).count == 3) }

      let pipe = try Pipe()
      let reader = PipeReader(pipe)
      reader.watch = try loop.watch(pipe.reading, for: .readable, reader)
      let spinner = loop.spawn { while reader.seen.value < 3 { await EventLoop.yield() } }
      pipe.write(3)
      await spinner.value
      reader.watch?.cancel()
      pipe.close()
    }
    group.shutDown()
    // Elsewhere it is what the language has.
    await EventLoop.yield()
  }

  @Test("A descriptor's handler can let the tasks that it has woken go on before it goes on itself, each of them once")
  func jobsInsideAHandler() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    let pipe = try Pipe()
    let seen = Mutex<[String]>([])
    let sleeping = Mutex<[UnsafeContinuation<Void, Never>]>([])
    let done = Tally("tasks")
    try await loop.perform {
      let reader = PipeReader(pipe)
      reader.onReady = { _ in
        for (number, continuation) in sleeping.withLock({ $0 }).enumerated() {
          continuation.resume()
          loop.runWaitingJobs()
          seen.withLock { $0.append("handler \(number) \(loop.pulse.phase)") }
        }
        sleeping.withLock { $0 = [] }
      }
      reader.watch = try loop.watch(pipe.reading, for: .readable, reader)
      for number in 0..<3 {
        loop.spawn { @Sendable in
          await withUnsafeContinuation { continuation in sleeping.withLock { $0.append(continuation) } }
          seen.withLock { $0.append("task \(number) \(loop.pulse.phase)") }
          // It would keep the handler for ever if more than a snapshot ran.
          while sleeping.withLock({ !$0.isEmpty }) { await Task.yield() }
          done.add()
        }
      }
      pipe.write(1)
      try await done.reaches(3)
      reader.watch?.cancel()
    }
    #expect(
      seen.withLock { $0 } == [
        "task 0 tasks", "handler 0 descriptors", "task 1 tasks", "handler 1 descriptors", "task 2 tasks", "handler 2 descriptors",
      ])
    pipe.close()
    group.shutDown()
  }

  @Test("What is queued when a loop stops still runs, and tasks resumed later run too")
  func stop() async throws {
    let loop = try EventLoop(name: "stopping")
    let ran = Tally("jobs")
    for _ in 0..<100 { loop.execute { ran.add() } }
    let tasks = (0..<10).map { _ in
      loop.spawn {
        for _ in 0..<10 {
          await Task.yield()
          await EventLoop.yield()
        }
        ran.add()
      }
    }
    let held = Mutex<CheckedContinuation<Void, Never>?>(nil)
    let late = loop.spawn {
      await withCheckedContinuation { continuation in held.withLock { $0 = continuation } }
      ran.add()
    }
    loop.stop()
    loop.stop()
    let thread = LoopThread(name: "stopping") { loop.run() }
    thread.join()
    for task in tasks { await task.value }
    #expect(ran.value == 110)
    held.withLock { $0 }?.resume()
    await late.value
    #expect(ran.value == 111)
  }

  @Test("Loops leave no descriptor behind")
  func descriptors() throws {
    let before = OpenSockets.descriptors
    for _ in 0..<300 {
      let group = try EventLoopGroup(count: 1)
      group.shutDown()
    }
    // Other suites open and close files meanwhile: a leak of two per loop would stand out.
    #expect(OpenSockets.descriptors < before + 300)
  }
}

/// Both ends of a pipe.
struct Pipe: Sendable {
  let reading: Int32
  let writing: Int32

  init() throws {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw TimedOut("no pipe") }
    for end in ends {
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    (reading, writing) = (ends[0], ends[1])
  }

  func write(_ count: Int) {
    let bytes = [UInt8](repeating: 1, count: count)
    _ = Glibc.write(writing, bytes, count)
  }

  func close() {
    Glibc.close(reading)
    Glibc.close(writing)
  }
}

/// Counts the bytes that come out of a pipe.
// SAFETY: used on its loop only.
final class PipeReader: DescriptorHandler, @unchecked Sendable {
  let pipe: Pipe
  let seen = Tally("bytes")
  var watch: DescriptorWatch?
  var onReady: (PipeReader) -> Void = { _ in }

  init(_ pipe: Pipe) { self.pipe = pipe }

  func descriptorIsReady(_ readiness: Readiness) {
    var buffer = [UInt8](repeating: 0, count: 64)
    let count = read(pipe.reading, &buffer, buffer.count)
    if count > 0 { seen.add(count) }
    onReady(self)
  }
}
