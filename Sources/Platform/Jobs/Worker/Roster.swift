internal import EventLoop
internal import PostgreSQL
internal import Synchronization

/// The runs of one worker: who has a place, and why a run is being cancelled.
final class Roster: Sendable {
  /// Why the worker cancels a run.
  enum Recall: Sendable {
    /// It has lost its lease: whatever it does from now on is another one's.
    case lost
    /// It has taken longer than its kind allows.
    case timedOut
    /// The worker stops.
    case stopping
  }

  private struct Entry {
    let run: JobRun
    let queue: String
    let end: MonotonicInstant
    var task: Task<Void, Never>?
    var recall: Recall?
    /// Its end is being written, which nothing may cancel.
    var isSettling = false
  }

  private struct State {
    var entries: [RunID: Entry] = [:]
    var counts: [String: Int] = [:]
  }

  private let limit: Int
  private let state = Mutex(State())

  init(limit: Int) { self.limit = limit }

  var count: Int { state.withLock { $0.entries.count } }
  var runs: [JobRun] { state.withLock { $0.entries.values.map(\.run) } }

  /// How many more jobs of a queue may run.
  func room(in queue: WorkerSettings.Queue) -> Int {
    state.withLock { min(queue.concurrency - ($0.counts[queue.name] ?? 0), limit - $0.entries.count) }
  }

  /// Gives a run its place.
  func enter(_ run: JobRun, queue: String, timeout: Duration) {
    state.withLock { state in
      state.entries[run.runID] = Entry(run: run, queue: queue, end: MonotonicInstant.now().advanced(by: timeout))
      state.counts[queue, default: 0] += 1
    }
  }

  /// The task that has the run, once it is known. A run that was recalled before is cancelled.
  func assign(_ task: Task<Void, Never>, to run: JobRun) {
    let isRecalled = state.withLock { state in
      state.entries[run.runID]?.task = task
      return state.entries[run.runID]?.recall != nil
    }
    if isRecalled { task.cancel() }
  }

  /// Takes a run's place away.
  func leave(_ run: JobRun) {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: run.runID) else { return }
      state.counts[entry.queue, default: 0] -= 1
    }
  }

  /// The handler has returned: from now on the run is not cancelled any more.
  ///
  /// - Returns: Why it was, if it was.
  func settle(_ run: JobRun) -> Recall? {
    state.withLock { state in
      state.entries[run.runID]?.isSettling = true
      return state.entries[run.runID]?.recall
    }
  }

  /// Cancels those of `runs` that are not being cancelled already.
  func recall(_ runs: [JobRun], because reason: Recall) {
    for run in runs {
      let task = state.withLock { state -> Task<Void, Never>? in
        guard let entry = state.entries[run.runID], !entry.isSettling, entry.recall == nil || reason == .lost else { return nil }
        if reason == .lost { entry.run.markLost() }
        state.entries[run.runID]?.recall = reason
        return entry.task
      }
      task?.cancel()
    }
  }

  /// The runs that have taken too long by now.
  func overdue(at now: MonotonicInstant) -> [JobRun] {
    state.withLock { $0.entries.values.filter { $0.end <= now && $0.recall == nil }.map(\.run) }
  }
}
