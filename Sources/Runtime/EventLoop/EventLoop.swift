internal import CShims
internal import Synchronization

/// One thread that waits for descriptors and timers and runs the tasks that live on it.
///
/// A connection, its handlers and the database connections they use are created on one loop and never leave it, so nothing
/// on the hot path crosses threads or takes a lock. A task runs here when it was started with
/// `Task.immediate(executorPreference: loop)` or ``spawn(_:)``; wherever it suspends, it resumes here.
///
/// A tick: wait for readiness, tell the handlers, fire timers, take messages from other threads, run the jobs that were
/// waiting, then the end-of-tick work (one write per connection, one sync per database connection).
public final class EventLoop: TaskExecutor {
  /// Names the loop in logs and thread lists.
  public let name: String
  /// How busy the loop is, in whatever unit its users count (connections); compared when a new connection needs a home.
  public var load: Int { loadCount.load(ordering: .relaxed) }

  /// What it has done so far; may be asked from any thread.
  public var statistics: EventLoopStatistics { counts.snapshot }

  private let loadCount = Atomic<Int>(0)
  private let counts = LoopCounts()
  /// The turn and its phase, in one word so that whoever looks sees both of one moment; see ``pulse``.
  let stage = Atomic<UInt64>(0)
  let currentTask = Atomic<UInt>(0)
  private var turn: UInt64 = 0
  let poller: Poller
  private var jobs = JobRing()
  private var timers = TimerHeap()
  private var endOfTick: [any EndOfTickWork] = []
  /// Tasks that go on in the next tick.
  var yielding: [UnsafeContinuation<Void, Never>] = []
  private var graveyard: [AnyObject] = []
  private(set) var isStopping = false
  /// Tasks asleep on this loop: it wakes them with an error when it stops.
  var sleepers: [ObjectIdentifier: Sleeper] = [:]
  private var isFiringTimers = false
  private let remote = Mutex(RemoteQueue())
  /// The moment at which the current tick began: good enough for deadlines, and free.
  public private(set) var now = MonotonicInstant.now()

  private struct RemoteQueue {
    var entries: [RemoteEntry] = []
    var isClosed = false
  }

  private enum RemoteEntry {
    case job(UnownedJob)
    case message(@Sendable () -> Void)
  }

  /// A loop that runs once ``run()`` is called on the thread that shall be its own.
  public init(name: String = "loop") throws(EventLoopError) {
    self.name = name
    poller = try Poller()
  }

  // MARK: Where am I

  /// Whether the calling thread is this loop's.
  @inline(__always)
  public var isCurrent: Bool { parley_current_loop() == Unmanaged.passUnretained(self).toOpaque() }

  /// What ``isCurrentLoop(_:)`` knows the loop by, for as long as it lives.
  package var identity: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  /// The loop that the calling thread runs, or nil on any other thread.
  public static var current: EventLoop? {
    guard let loop = parley_current_loop() else { return nil }
    return Unmanaged<EventLoop>.fromOpaque(loop).takeUnretainedValue()
  }

  /// Ends the process in debug builds when called off the loop.
  @inline(__always)
  public func assertInLoop() { assert(isCurrent, "called off the loop \(name)") }

  /// Adds a unit of load: a connection that this loop is about to own.
  public func takeLoad() { loadCount.add(1, ordering: .relaxed) }

  /// Takes a unit of load back: the connection is gone.
  public func giveBackLoad() { loadCount.subtract(1, ordering: .relaxed) }

  // MARK: Running

  /// Makes the calling thread the loop's thread and serves until ``stop()``.
  public func run() {
    parley_set_current_loop(Unmanaged.passUnretained(self).toOpaque())
    name.withCString { parley_name_thread($0) }
    while !isStopping { tick(waits: true) }
    drainAfterStop()
    parley_set_current_loop(nil)
  }

  /// Ends ``run()`` after the current tick. May be called from any thread, and more than once.
  public func stop() {
    execute { self.isStopping = true }
  }

  /// Whether something is left to do that needs no readiness and no timer.
  var hasWaitingWork: Bool { jobs.count > 0 || remote.withLock { !$0.entries.isEmpty } }

  /// One round of everything.
  ///
  /// - Parameter waits: Whether to wait for a descriptor or a timer while nothing else is to be done.
  /// - Returns: How many descriptors were ready.
  @discardableResult
  func tick(waits: Bool) -> Int {
    enter(.waiting)
    let milliseconds = !waits || jobs.count > 0 ? 0 : millisecondsToNextTimer()
    // Whoever is told of a descriptor must not take the time before the wait for the present.
    let ready = poller.wait(milliseconds: milliseconds, woken: { now = .now() }) { watch, readiness in
      enter(.descriptors)
      watch.handler?.descriptorIsReady(readiness)
    }
    enter(.timers)
    fireTimers()
    enter(.messages)
    takeRemote()
    enter(.tasks)
    counts.addTick(armedTimers: timers.count)
    runJobs(atMost: Self.longestTurn)
    enter(.endOfTick)
    runEndOfTick()
    graveyard.removeAll(keepingCapacity: true)
    turn &+= 1
    return ready
  }

  /// One plain store: whoever watches needs no order with anything else.
  @inline(__always)
  private func enter(_ phase: LoopPhase) { stage.store(turn << 3 | phase.rawValue, ordering: .relaxed) }

  /// How long the jobs of one tick may keep the loop from its descriptors, and from writing what is there to write. What is left then
  /// is first in the next tick. It is far above what the jobs of a busy server take, and below what a caller notices.
  private static let longestTurn = Duration.milliseconds(5)

  /// Only a snapshot of the ring: a task that yields for ever must not keep the loop from its descriptors. Nor must many that each
  /// take a while: of 64 calls that set up TLS in one tick, the first would say nothing before the last is done.
  private func runJobs(atMost limit: Duration? = nil) {
    let count = jobs.count
    let end = limit.flatMap { count > 1 ? MonotonicInstant.now().advanced(by: $0) : nil }
    var done = 0
    while done < count {
      let job = jobs.pop()
      currentTask.store(Self.identity(of: job), ordering: .relaxed)
      job.runSynchronously(on: asUnownedTaskExecutor())
      done += 1
      // Every fourth: a look at the clock costs about what a short job does.
      if done & 3 == 0, let end, MonotonicInstant.now() >= end { break }
    }
    counts.addJobs(done)
    currentTask.store(0, ordering: .relaxed)
  }

  private func runEndOfTick() {
    // Work may ask for more work (a flush that resumes a task that writes): bounded by what was asked for in this tick.
    var index = 0
    while index < endOfTick.count {
      endOfTick[index].endOfTick()
      index += 1
    }
    endOfTick.removeAll(keepingCapacity: true)
    for continuation in yielding { continuation.resume() }
    yielding.removeAll(keepingCapacity: true)
  }

  private func fireTimers() {
    isFiringTimers = true
    while let timer = timers.first, timer.deadline <= now {
      timers.remove(timer)
      counts.addTimer()
      timer.onFire()
    }
    isFiringTimers = false
  }

  private func millisecondsToNextTimer() -> Int32 {
    guard let next = timers.first?.deadline else { return -1 }
    let now = MonotonicInstant.now()
    guard next > now else { return 0 }
    // Rounded up, or the loop would spin through the last fraction of a millisecond.
    return Int32(clamping: (next.nanoseconds - now.nanoseconds + 999_999) / 1_000_000)
  }

  private func takeRemote() {
    let entries = remote.withLock { queue in
      defer { queue.entries = [] }
      return queue.entries
    }
    for entry in entries {
      switch entry {
      case .job(let job): jobs.push(job)
      case .message(let body): body()
      }
    }
  }

  /// What is still queued when the loop ends runs now, so that no task is left suspended for ever by its executor.
  private func drainAfterStop() {
    repeat {
      takeRemote()
      for sleeper in sleepers.values { sleeper.stop() }
      runJobs()
      runEndOfTick()
      graveyard.removeAll()
    } while jobs.count > 0
      || !remote.withLock({ queue in
        queue.isClosed = queue.entries.isEmpty
        return queue.isClosed
      })
  }

  // MARK: Tasks and messages

  /// Runs the jobs that are waiting, in the middle of a tick: for a descriptor's handler that has many answers to hand out, so that
  /// each task goes on while its answer is still in the cache.
  ///
  /// What else waits runs too, once. The handler must expect whatever a task may do: send, shut down. Not to be called by a job.
  public func runWaitingJobs() {
    assertInLoop()
    assert(currentTask.load(ordering: .relaxed) == 0, "a job runs")
    let phase = stage.load(ordering: .relaxed)
    enter(.tasks)
    runJobs()
    stage.store(phase, ordering: .relaxed)
  }

  /// Queues a job of a task that prefers this loop. Called by the concurrency runtime, from any thread.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if isCurrent {
      jobs.push(job)
    } else if !sendRemote(.job(job)) {
      // The loop has ended: whoever resumes one of its tasks now runs it, since nobody else will.
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  /// Runs `body` on the loop's thread at its next tick. May be called from any thread.
  ///
  /// - Returns: Whether it will run; false once the loop has ended.
  @discardableResult
  public func execute(_ body: @escaping @Sendable () -> Void) -> Bool { sendRemote(.message(body)) }

  /// Starts an unstructured task on this loop: at once when called on it, else at its next tick.
  @discardableResult
  public func spawn(_ body: sending @escaping @isolated(any) () async -> Void) -> Task<Void, Never> {
    isCurrent ? Task.immediate(executorPreference: self, operation: body) : Task(executorPreference: self, operation: body)
  }

  private func sendRemote(_ entry: RemoteEntry) -> Bool {
    let (accepted, wasEmpty) = remote.withLock { queue -> (Bool, Bool) in
      guard !queue.isClosed else { return (false, false) }
      queue.entries.append(entry)
      return (true, queue.entries.count == 1)
    }
    if wasEmpty { poller.wake() }
    return accepted
  }

  // MARK: Descriptors, timers, end of tick

  /// Watches a descriptor; level-triggered. The handler is kept until the watch is cancelled.
  public func watch(
    _ descriptor: Int32, for interest: Readiness, _ handler: any DescriptorHandler
  ) throws(EventLoopError) -> DescriptorWatch {
    assertInLoop()
    let watch = DescriptorWatch(descriptor, interest, handler, on: self)
    try poller.add(watch)
    return watch
  }

  /// Keeps `object` alive until the tick ends, for whoever is torn down inside a callback that still uses it.
  public func keepUntilEndOfTick(_ object: AnyObject) { graveyard.append(object) }

  /// Arms a timer, or moves it when it is armed already. A deadline in the past fires at the next tick.
  public func arm(_ timer: LoopTimer, at deadline: MonotonicInstant) {
    assertInLoop()
    // A timer that arms itself in the past must not keep the loop from everything else.
    timer.deadline = isFiringTimers && deadline <= now ? now.advanced(by: .nanoseconds(1)) : deadline
    if timer.isArmed { timers.update(timer) } else { timers.insert(timer) }
  }

  /// Arms a timer to fire after `delay`.
  public func arm(_ timer: LoopTimer, after delay: Duration) { arm(timer, at: MonotonicInstant.now().advanced(by: delay)) }

  /// Takes back an armed timer; does nothing when it is not armed.
  public func disarm(_ timer: LoopTimer) {
    assertInLoop()
    if timer.isArmed { timers.remove(timer) }
  }

  /// Calls `work` once, after the jobs of this tick. The caller keeps track of having asked already.
  public func atEndOfTick(_ work: any EndOfTickWork) {
    assertInLoop()
    endOfTick.append(work)
  }
}

/// Whether the calling thread is that of the loop with this ``EventLoop/identity``: for what is asked several times for each call, and
/// must count no references.
package func isCurrentLoop(_ identity: UnsafeMutableRawPointer) -> Bool { parley_current_loop() == identity }

/// Whoever gathers work during a tick and does it once at its end: a connection's write, a database connection's sync.
public protocol EndOfTickWork: AnyObject {
  /// Called once per request by ``EventLoop/atEndOfTick(_:)``.
  func endOfTick()
}

// SAFETY: all state but `remote` and the atomics is touched by the loop's own thread only, which debug builds assert.
extension EventLoop: @unchecked Sendable {}
