import Synchronization
import Testing

@testable import ServiceKit

@Suite("Jobs around a server")
struct NestedJobsTests {
  /// What happened, in its order.
  private final class Story: Sendable {
    private let lines = Mutex<[String]>([])
    var told: [String] { lines.withLock(\.self) }
    func tell(_ line: String) { lines.withLock { $0.append(line) } }

    /// A job that works until it is cancelled.
    func job(_ name: String, begun: Event = Event()) -> BackgroundJob {
      BackgroundJob(name) {
        begun.happen()
        await NestedJobsTests.cancellation()
        self.tell(name)
        try Task.checkCancellation()
      }
    }
  }

  /// Something that happens once; whoever waits for it goes on then, or when its task is cancelled.
  private final class Event: Sendable {
    private let stream: AsyncStream<Never>
    private let continuation: AsyncStream<Never>.Continuation
    init() { (stream, continuation) = AsyncStream.makeStream() }
    func happen() { continuation.finish() }
    func wait() async { for await _ in stream {} }
  }

  /// Waits until the task is cancelled.
  private static func cancellation() async {
    let never = Event()
    await never.wait()
    withExtendedLifetime(never) {}
  }

  private struct Broken: Error {}

  @Test("The server ends before the jobs, and of the jobs the last one first")
  func order() async throws {
    let (story, first, second) = (Story(), Event(), Event())
    try await NestedJobs([story.job("first", begun: first), story.job("second", begun: second)]).run {
      await first.wait()
      await second.wait()
      story.tell("server")
    }
    #expect(story.told == ["server", "second", "first"])
  }

  @Test("Without jobs there is the server alone, and its error is the whole's")
  func none() async throws {
    let story = Story()
    try await NestedJobs([]).run { story.tell("server") }
    #expect(story.told == ["server"])
    await #expect(throws: Broken.self) { try await NestedJobs([]).run { throw Broken() } }
    await #expect(throws: Broken.self) { try await NestedJobs([story.job("job")]).run { throw Broken() } }
    #expect(story.told == ["server", "job"])
  }

  @Test("A job that has done its work leaves the rest alone, even while the server drains")
  func done() async throws {
    let (story, stopping, done) = (Story(), Event(), Event())
    let short = BackgroundJob("short") {
      await stopping.wait()
      story.tell("short")
      done.happen()
    }
    try await NestedJobs([story.job("long"), short]).run {
      stopping.happen()
      await done.wait()
      // Were it cancelled for that, it would be by now.
      for _ in 0..<1_000 { await Task.yield() }
      story.tell("server \(Task.isCancelled)")
    }
    #expect(story.told == ["short", "server false", "long"])
  }

  @Test(
    "A job that fails cancels the server, waits until it has drained, and ends the whole with its error", arguments: [0, 1, 2])
  func fails(_ place: Int) async throws {
    let (story, serving) = (Story(), Event())
    var jobs = [story.job("first"), story.job("second")]
    jobs.insert(
      BackgroundJob("broken") {
        await serving.wait()
        throw Broken()
      }, at: place)
    let all = jobs
    await #expect(throws: Broken.self) {
      try await NestedJobs(all).run {
        serving.happen()
        await NestedJobsTests.cancellation()
        story.tell("cancelled \(Task.isCancelled)")
      }
    }
    #expect(story.told.count == 3 && story.told.contains("cancelled true"))
    // Those around the one that failed work until the server has drained.
    let around = ["first", "second"].prefix(place)
    #expect(story.told.suffix(place).elementsEqual(around.reversed()))
  }

  @Test("A job that fails only because it is cancelled ends the whole with its error, when all have ended")
  func failsAtTheEnd() async throws {
    let (story, begun) = (Story(), Event())
    let sore = BackgroundJob("sore") {
      begun.happen()
      await NestedJobsTests.cancellation()
      story.tell("sore")
      throw Broken()
    }
    await #expect(throws: Broken.self) {
      try await NestedJobs([story.job("first"), sore]).run {
        await begun.wait()
        story.tell("server")
      }
    }
    #expect(story.told == ["server", "sore", "first"])
  }

  @Test("Of two errors the first one counts")
  func firstError() async throws {
    struct Later: Error {}
    let begun = Event()
    let outer = BackgroundJob("outer") {
      begun.happen()
      await NestedJobsTests.cancellation()
      throw Later()
    }
    await #expect(throws: Broken.self) {
      try await NestedJobs([outer]).run {
        await begun.wait()
        throw Broken()
      }
    }
  }

  @Test("Cancelling the whole cancels the server and the jobs")
  func cancelled() async throws {
    let (story, serving) = (Story(), Event())
    let whole = Task {
      try await NestedJobs([story.job("job")]).run {
        serving.happen()
        await NestedJobsTests.cancellation()
        story.tell("server")
      }
    }
    await serving.wait()
    whole.cancel()
    try await whole.value
    #expect(story.told.sorted() == ["job", "server"])
  }
}
