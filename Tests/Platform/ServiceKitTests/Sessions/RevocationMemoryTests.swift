import EventLoop
import Logging
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Values

@testable import ServiceKit

@Suite("Revocations that are remembered")
struct RevocationMemoryTests {
  private final class Clock: Sendable {
    let nanoseconds = Atomic<UInt64>(1_000_000_000_000)
    let seconds = Atomic<Int64>(1_800_000_000)
    var now: MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds.load(ordering: .relaxed)) }
    func advance(_ duration: Duration) {
      nanoseconds.add(UInt64(duration / .nanoseconds(1)), ordering: .relaxed)
      seconds.add(duration.components.seconds, ordering: .relaxed)
    }
    var memory: RevocationMemory {
      RevocationMemory(now: { self.now }, unixSeconds: { self.seconds.load(ordering: .relaxed) })
    }
  }

  private static func ended(_ number: UInt64, until: Int64 = 1_800_000_600) -> RevocationMemory.Ended {
    .init(session: UUID(high: 0, low: number), ending: .signedOut, mattersUntil: until)
  }

  @Test("What was never heard of is not known, and silence of 5 s is too long")
  func silence() {
    let clock = Clock()
    let memory = clock.memory
    #expect(memory.revision == nil)
    memory.isCurrent(asOf: clock.now)
    #expect(memory.revision != nil)
    clock.advance(.milliseconds(4999))
    #expect(memory.revision != nil)
    clock.advance(.milliseconds(1))
    #expect(memory.revision == nil && memory.silence == .seconds(5))
    // News that was on its way for long is old when it comes.
    memory.isCurrent(asOf: MonotonicInstant(nanoseconds: 1))
    #expect(memory.revision == nil)
  }

  @Test("Every end changes the revision, a heartbeat does not")
  func revision() {
    let clock = Clock()
    let memory = clock.memory
    memory.isCurrent(asOf: clock.now)
    let before = memory.revision
    memory.learn([])
    #expect(memory.revision == before)
    memory.learn([Self.ended(1)])
    #expect(memory.revision != before && memory.ending(of: UUID(high: 0, low: 1)) == .signedOut)
    #expect(memory.ending(of: UUID(high: 0, low: 2)) == nil)
  }

  @Test("What no token can bear any more is forgotten, what matters is kept")
  func bounded() {
    let clock = Clock()
    let memory = clock.memory
    memory.learn([Self.ended(1, until: 1_900_000_000)])
    for round in 0..<100 {
      let now = clock.seconds.load(ordering: .relaxed)
      memory.learn((0..<1000).map { Self.ended(UInt64(round * 1000 + $0 + 2), until: now + 300) })
      clock.advance(.seconds(601))
    }
    #expect(memory.size < 5_000)
    #expect(memory.ending(of: UUID(high: 0, low: 1)) == .signedOut)
  }

  private final class Source: RevocationSource {
    let pages = Mutex<[[RevocationMemory.Ended]]>([])
    func ended(
      after position: RevocationPosition
    ) async throws -> (sessions: [RevocationMemory.Ended], position: RevocationPosition, hasMore: Bool) {
      pages.withLock { pages in
        let index = Int(position.cursor)
        guard index < pages.count else { return ([], position, false) }
        return (pages[index], .init(cursor: Int64(index + 1), session: nil), index + 1 < pages.count)
      }
    }
    func ending(ofStored session: UUID) async throws -> SessionEnding? { .expired }
  }

  @Test("Revocations in the same process are read to their end before they count, and go on where they were")
  func polled() async throws {
    let clock = Clock()
    let source = Source()
    source.pages.withLock { $0 = [[Self.ended(1)], [Self.ended(2)], [Self.ended(3)]] }
    let feed = PolledRevocations(
      source, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { clock.now }, unixSeconds: { 1_800_000_000 })
    #expect(feed.revision == nil)
    var position = try await feed.read(after: .start)
    #expect(position.cursor == 3 && feed.revision != nil && feed.memory.size == 3)
    source.pages.withLock { $0.append([Self.ended(4)]) }
    position = try await feed.read(after: position)
    #expect(position.cursor == 4 && feed.ending(of: UUID(high: 0, low: 4)) == .signedOut)
    #expect(try await feed.ask(UUID(high: 0, low: 9)) == .expired)
  }

  /// A source that can be away.
  private final class AwaySource: RevocationSource {
    private struct Away: Error {}
    let isAway = Atomic(true)
    let failures = Tally("readings that failed")
    func ended(
      after position: RevocationPosition
    ) async throws -> (sessions: [RevocationMemory.Ended], position: RevocationPosition, hasMore: Bool) {
      guard isAway.load(ordering: .relaxed) else { return ([], position, false) }
      failures.add()
      throw Away()
    }
    func ending(ofStored session: UUID) async throws -> SessionEnding? { nil }
  }

  @Test("However long revocations cannot be read, that is logged once, and once more when they can be again")
  func awayOnce() async throws {
    let (source, log) = (AwaySource(), CapturedLog())
    let group = try EventLoopGroup(count: 1, name: "test", blockingThreads: 1)
    let feed = PolledRevocations(source, log: log.logger, unixSeconds: { 1_800_000_000 })
    let reading = Task { try await feed.run(on: group.loops[0]) }
    for round in 1...2 {
      try await source.failures.reaches(source.failures.value + 3)
      source.isAway.store(false, ordering: .relaxed)
      try await log.count.wait { _ in log.containing("ended sessions read again").count == round }
      #expect(log.containing("ended sessions not read").count == round && log.all.count == 2 * round)
      source.isAway.store(true, ordering: .relaxed)
    }
    reading.cancel()
    _ = try? await reading.value
    try await DemoProcess.pool.run { group.shutDown() }
  }
}
