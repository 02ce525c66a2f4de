public import EventLoop
public import Logging
internal import PostgreSQL
internal import Synchronization
internal import Values

/// Claims jobs and has their handlers run, on all loops of a process, until it is told to stop.
///
/// Any number of workers may share a queue. A worker that is killed loses its leases, one that is stopped gives its jobs back.
public final class JobWorker: Sendable {
  let queue: JobQueue
  let handlers: JobHandlers
  let settings: WorkerSettings
  let loops: [EventLoop]
  let log: Logger
  let metrics: JobMetrics
  let roster: Roster
  let bell: Bell
  private let chance: @Sendable () -> Double
  private let isStopping = Mutex(false)
  private let nextLoop = Mutex(0)
  private let finisher: WriteBatcher<RunID, Bool>

  /// A worker that does not work yet.
  ///
  /// - Parameters:
  ///   - queue: Where jobs are claimed.
  ///   - handlers: What is done with them. Jobs of other kinds are left alone.
  ///   - settings: How it works.
  ///   - loops: What handlers run on; the worker itself runs on the first.
  ///   - log: Where it tells what goes wrong.
  ///   - metrics: Where it counts.
  ///   - chance: Numbers from 0 to below 1, for the jitter of pauses.
  public init(
    _ queue: JobQueue, _ handlers: JobHandlers, _ settings: WorkerSettings, on loops: EventLoopGroup, log: Logger,
    metrics: JobMetrics, chance: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) {
    self.queue = queue
    self.handlers = handlers
    self.settings = settings
    self.loops = loops.loops
    self.log = log
    self.metrics = metrics
    self.chance = chance
    roster = Roster(settings)
    bell = Bell(on: loops.loops[0])
    finisher = WriteBatcher(on: loops.loops[0], items: 256) { runs throws(DatabaseError) in
      let lost = try await queue.finish(runs)
      return runs.map { !lost.contains($0) }
    }
  }

  /// Works until the calling task is cancelled (without handlers it only watches the queue and removes old dead jobs), then stops: nothing more is claimed, what runs may end within the grace, the rest
  /// is cancelled and given back without having spent an attempt.
  ///
  /// - Throws: `CancellationError` at its end.
  public func run() async throws {
    // Tasks of its own: what is to be written at the end must not be cancelled with the caller.
    let isIdle = handlers.kinds.isEmpty
    let claiming = loops[0].spawn { if !isIdle { await self.claim() } }
    let beating = loops[0].spawn { if !isIdle { await self.beat() } }
    let listening = loops[0].spawn { if !isIdle { await self.listen() } }
    let tending = loops[0].spawn { await self.tend() }
    let scheduling = loops[0].spawn { if !self.handlers.schedules.isEmpty { await self.keepSchedules() } }
    // Ends by cancellation, or with the loop.
    while (try? await loops[0].sleep(for: .seconds(3600))) != nil {}
    isStopping.withLock { $0 = true }
    bell.ring()
    await claiming.value
    listening.cancel()
    tending.cancel()
    scheduling.cancel()
    await loops[0].spawn { await self.drain() }.value
    beating.cancel()
    await listening.value
    await tending.value
    await scheduling.value
    await beating.value
    throw CancellationError()
  }

  /// Looks at once for jobs: for whoever knows of some.
  public func wake() { bell.ring() }

  // MARK: Claiming

  private var stops: Bool { isStopping.withLock { $0 } }

  private func claim() async {
    var failures = 0
    var turn = 0
    while !stops {
      // What has taken all it may have room for, and may have more.
      var full: [WorkerSettings.Queue] = []
      do throws(DatabaseError) {
        // Each queue goes first in its turn: where places are few, none has them all.
        turn = (turn + 1) % max(1, settings.queues.count)
        for queue in settings.queues[turn...] + settings.queues[..<turn] where !stops {
          let room = min(roster.room(in: queue), 256)
          guard room > 0 else { continue }
          let claimedAt = MonotonicInstant.now()
          let jobs = try await self.queue.claim(
            room, from: queue.name, kinds: handlers.kinds, as: settings.name, for: settings.lease)
          for job in jobs { start(job, queue: queue.name, leaseEnd: claimedAt.advanced(by: settings.lease)) }
          if jobs.count == room { full.append(queue) }
        }
        failures = 0
      } catch {
        failures += 1
        if failures == 1 { log.warning("no jobs can be claimed", metadata: ["cause": "\(error)"]) }
      }
      // Without room the end of a run rings.
      if failures == 0 && full.contains(where: { roster.room(in: $0) > 0 }) { continue }
      await bell.wait(atMost: settings.poll)
    }
  }

  private func start(_ job: ClaimedJob, queue name: String, leaseEnd: MonotonicInstant) {
    let run = JobRun(job, of: queue, leaseEnd: leaseEnd)
    guard let handler = handlers.handlers[job.kind] else { return }
    metrics.waited(queue.now().duration(since: job.dueAt), in: name)
    roster.enter(run, queue: name, timeout: handler.timeout)
    roster.assign(takeLoop().spawn { await self.perform(run, handler, in: name) }, to: run)
  }

  private func takeLoop() -> EventLoop {
    nextLoop.withLock { index in
      index = (index + 1) % loops.count
      return loops[index]
    }
  }

  // MARK: A run

  private func perform(_ run: JobRun, _ handler: JobHandlers.Handler, in queue: String) async {
    let began = MonotonicInstant.now()
    let failure: (any Error)?
    if run.attempt > run.maximumAttempts {
      failure = JobFailure.permanent("the last run ended without a word: the process died, or was stopped for too long")
    } else {
      do {
        try await handler.run(run)
        failure = nil
      } catch {
        failure = error
      }
    }
    let recall = roster.settle(run)
    let end: RunOutcome
    if Task.isCancelled {
      // What is written now must not be cancelled with the handler.
      let box = Mutex(RunOutcome.lost)
      await loops[0].spawn {
        let outcome = await self.settle(run, handler, failure, recall)
        box.withLock { $0 = outcome }
      }.value
      end = box.withLock { $0 }
    } else {
      end = await settle(run, handler, failure, recall)
    }
    guard roster.leave(run) else {
      log.notice("a run that was given up has ended", metadata: ["job": "\(run.id)", "kind": "\(run.kind)"])
      return metrics.returned(kind: run.kind)
    }
    metrics.ended(end, kind: run.kind, after: MonotonicInstant.now().duration(since: began))
    bell.ring()
  }

  /// Writes how the run ended.
  private func settle(
    _ run: JobRun, _ handler: JobHandlers.Handler, _ failure: (any Error)?, _ recall: Roster.Recall?
  ) async -> RunOutcome {
    if recall == .lost || run.isLost {
      log.warning("a job ran past its lease", metadata: ["job": "\(run.id)", "kind": "\(run.kind)"])
      return .lost
    }
    guard let failure else { return await finish(run) }
    if recall == .stopping {
      let isBack = await write(run) { () throws(DatabaseError) in try await self.queue.giveBack([run], deadline: self.soon) > 0 }
      return isBack == true ? .givenBack : .lost
    }
    if recall == nil, case .giveWay(let pause)? = (failure as? JobFailure)?.outlook {
      let isBack = await write(run) { () throws(DatabaseError) in try await self.queue.giveWay(run, for: pause) }
      return isBack == true ? .givenBack : .lost
    }
    let verdict = Verdict(failure, run, handler.retry, isTimeout: recall == .timedOut, chance: chance())
    log.warning(
      "a job failed",
      metadata: [
        "job": "\(run.id)", "kind": "\(run.kind)", "attempt": "\(run.attempt)", "cause": "\(verdict.error)",
        "again": "\(verdict.again.map { "\($0)" } ?? "never: \(verdict.reason)")", "spent": "\(verdict.spendsAttempt)",
      ])
    if !verdict.spendsAttempt, let pause = verdict.again {
      let isBack = await write(run) { () throws(DatabaseError) in
        try await self.queue.giveWay(run, for: pause, keeping: verdict.error)
      }
      return isBack == true ? .failed : .lost
    }
    let end = await write(run) { () throws(DatabaseError) in
      try await self.queue.fail(run, again: verdict.again, reason: verdict.reason, error: verdict.error)
    }
    switch end {
    case .waits: return .failed
    case .dead: return .died
    case .lost, nil: return .lost
    }
  }

  private func finish(_ run: JobRun) async -> RunOutcome {
    if run.hasEnded { return .done }
    let isMine = await write(run) { () throws(DatabaseError) in try await self.finisher.submit(run.runID) }
    if isMine == true || run.mayBeFinished { return .done }
    log.warning("a job ended after its lease", metadata: ["job": "\(run.id)", "kind": "\(run.kind)"])
    return .lost
  }

  /// Writes as often as it takes while the run has its lease. What was written without an answer is harmless to write again.
  private func write<Value>(
    _ run: JobRun, _ body: () async throws(DatabaseError) -> Value
  ) async -> Value? {
    while true {
      do throws(DatabaseError) { return try await body() } catch {
        log.warning("the end of a job cannot be written", metadata: ["job": "\(run.id)", "cause": "\(error)"])
        if run.hasLostLease { return nil }
        if (try? await loops[0].sleep(for: min(.milliseconds(500), settings.lease / 10))) == nil { return nil }
      }
    }
  }

  private var soon: MonotonicInstant { .now().advanced(by: .seconds(2)) }

  // MARK: Signs of life

  /// Prolongs leases, cancels what has lost its own or takes too long, and gives up what does not even end then.
  private func beat() async {
    let pause = min(settings.heartbeat, .seconds(1))
    var next = MonotonicInstant.now().advanced(by: settings.heartbeat)
    while (try? await loops[0].sleep(for: pause)) != nil {
      roster.recall(roster.runs.filter(\.hasLostLease), because: .lost)
      roster.recall(roster.overdue(at: .now()), because: .timedOut)
      for abandoned in roster.abandon(at: .now()) { await giveUp(abandoned) }
      guard MonotonicInstant.now() >= next else { continue }
      let runs = roster.living(at: .now())
      let began = MonotonicInstant.now()
      next = began.advanced(by: settings.heartbeat)
      guard !runs.isEmpty else { continue }
      do throws(DatabaseError) {
        let lost = try await queue.heartbeat(runs, for: settings.lease, deadline: began.advanced(by: settings.heartbeat))
        for run in runs where !lost.contains(run.runID) { run.prolong(until: began.advanced(by: settings.lease)) }
        // A run that has ended meanwhile has lost nothing.
        let gone = runs.filter { lost.contains($0.runID) && !$0.mayBeFinished }
        if !gone.isEmpty { roster.recall(gone, because: .lost) }
      } catch {
        log.warning("leases are not prolonged", metadata: ["cause": "\(error)"])
        next = began.advanced(by: pause)
      }
    }
  }

  /// Frees the job of a handler that is deaf to its cancellation. Its lease is not prolonged any more, so that without an answer from the
  /// database the job is free when that is over.
  private func giveUp(_ abandoned: Roster.Abandoned) async {
    let run = abandoned.run
    log.error(
      "a handler does not stop when it is cancelled: its job goes on without it",
      metadata: ["job": "\(run.id)", "kind": "\(run.kind)", "attempt": "\(run.attempt)"])
    var end = RunOutcome.lost
    if abandoned.recall == .timedOut, let handler = handlers.handlers[run.kind] {
      let verdict = Verdict(JobError.leaseLost, run, handler.retry, isTimeout: true, chance: chance())
      do throws(DatabaseError) {
        let written = try await queue.fail(
          run, again: verdict.again, reason: verdict.reason, error: verdict.error, deadline: soon)
        end = written == .waits ? .failed : written == .dead ? .died : .lost
      } catch {
        log.warning("the end of a job cannot be written", metadata: ["job": "\(run.id)", "cause": "\(error)"])
      }
    }
    metrics.ended(end, kind: run.kind, after: abandoned.after)
    metrics.deafened(kind: run.kind)
    bell.ring()
  }

  private func listen() async {
    await queue.database.listen(to: [queue.channel]) { [bell] _ in bell.ring() }
  }

  // MARK: The end

  /// Waits for runs; cancels those that take longer than the grace, and takes the jobs of those that do not even end then.
  private func drain() async {
    await emptied(within: settings.grace)
    roster.recall(roster.runs, because: .stopping)
    await emptied(within: .seconds(2))
    let stubborn = roster.runs
    guard !stubborn.isEmpty else { return }
    log.warning("jobs do not stop when they are cancelled", metadata: ["kinds": "\(Set(stubborn.map(\.kind)).sorted())"])
    _ = try? await queue.giveBack(stubborn, deadline: soon)
    for run in stubborn { run.markLost() }
  }

  private func emptied(within patience: Duration) async {
    let end = MonotonicInstant.now().advanced(by: patience)
    while roster.count > 0 && MonotonicInstant.now() < end {
      await bell.wait(atMost: MonotonicInstant.now() < end ? end.duration(since: .now()) : .zero)
    }
  }
}
