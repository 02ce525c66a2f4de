internal import Synchronization

/// What a loop has done since it began: readable from any thread.
public struct EventLoopStatistics: Sendable, Hashable {
  /// How often it has looked for something to do.
  public var ticks = 0
  /// Jobs of tasks that it has run.
  public var jobs = 0
  /// Timers that have fired.
  public var timers = 0
  /// Timers that are armed, to the tick.
  public var armedTimers = 0
}

/// The loop's counts. One thread writes, so that a load and a store are enough and no locked instruction is needed.
struct LoopCounts: ~Copyable, Sendable {
  private let ticks = Atomic(0)
  private let jobs = Atomic(0)
  private let timers = Atomic(0)
  private let armedTimers = Atomic(0)

  @inline(__always)
  func addTick(armedTimers: Int) {
    ticks.store(ticks.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    self.armedTimers.store(armedTimers, ordering: .relaxed)
  }

  @inline(__always)
  func addJobs(_ count: Int) { jobs.store(jobs.load(ordering: .relaxed) &+ count, ordering: .relaxed) }

  @inline(__always)
  func addTimer() { timers.store(timers.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

  var snapshot: EventLoopStatistics {
    var statistics = EventLoopStatistics()
    statistics.ticks = ticks.load(ordering: .relaxed)
    statistics.jobs = jobs.load(ordering: .relaxed)
    statistics.timers = timers.load(ordering: .relaxed)
    statistics.armedTimers = armedTimers.load(ordering: .relaxed)
    return statistics
  }
}
