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
    let began: MonotonicInstant
    let end: MonotonicInstant
    var task: Task<Void, Never>?
    var recall: Recall?
    /// Its end is being written, which nothing may cancel.
    var isSettling = false
    /// When it should have ended by itself: some time after it was cancelled, or after its end began to be written.
    var isOverAt: MonotonicInstant?
  }

  private struct State {
    var entries: [RunID: Entry] = [:]
    var counts: [String: Int] = [:]
  }

  /// A run whose handler does not end though it was cancelled.
  struct Abandoned {
    let run: JobRun
    let recall: Recall
    let after: Duration
  }

  private let settings: WorkerSettings
  private let state = Mutex(State())

  init(_ settings: WorkerSettings) { self.settings = settings }

  var count: Int { state.withLock { $0.entries.count } }
  var runs: [JobRun] { state.withLock { $0.entries.values.map(\.run) } }

  /// How many more jobs of a queue may run: as many as it and the worker may have, without what is kept for the other queues.
  func room(in queue: WorkerSettings.Queue) -> Int {
    state.withLock { state in
      let kept = settings.queues.filter { $0.name != queue.name }.map {
        max(0, settings.share(of: $0) - (state.counts[$0.name] ?? 0))
      }
      return min(
        queue.concurrency - (state.counts[queue.name] ?? 0), settings.concurrency - state.entries.count - kept.reduce(0, +))
    }
  }

  /// The runs whose leases are to be prolonged: those that may still end as they should.
  func living(at now: MonotonicInstant) -> [JobRun] {
    state.withLock { $0.entries.values.filter { entry in entry.isOverAt.map { now < $0 } ?? true }.map(\.run) }
  }

  /// Takes the places of runs that were cancelled and have not ended for too long. They have lost their lease for themselves.
  func abandon(at now: MonotonicInstant) -> [Abandoned] {
    state.withLock { state in
      var abandoned: [Abandoned] = []
      for (id, entry) in state.entries {
        // Of a worker that stops, the drain gives back what does not end.
        guard let recall = entry.recall, recall != .stopping, !entry.isSettling, let end = entry.isOverAt, end <= now else {
          continue
        }
        entry.run.markLost()
        state.entries.removeValue(forKey: id)
        state.counts[entry.queue, default: 0] -= 1
        abandoned.append(Abandoned(run: entry.run, recall: recall, after: now.duration(since: entry.began)))
      }
      return abandoned
    }
  }

  /// Gives a run its place.
  func enter(_ run: JobRun, queue: String, timeout: Duration) {
    state.withLock { state in
      let now = MonotonicInstant.now()
      state.entries[run.runID] = Entry(run: run, queue: queue, began: now, end: now.advanced(by: timeout))
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
  ///
  /// - Returns: Whether it had one: a run that was abandoned has none any more.
  func leave(_ run: JobRun) -> Bool {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: run.runID) else { return false }
      state.counts[entry.queue, default: 0] -= 1
      return true
    }
  }

  /// The handler has returned: from now on the run is not cancelled any more.
  ///
  /// - Returns: Why it was, if it was.
  func settle(_ run: JobRun) -> Recall? {
    state.withLock { state in
      state.entries[run.runID]?.isSettling = true
      state.entries[run.runID]?.isOverAt = MonotonicInstant.now().advanced(by: settings.recallGrace)
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
        if entry.isOverAt == nil {
          state.entries[run.runID]?.isOverAt = MonotonicInstant.now().advanced(by: settings.recallGrace)
        }
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
