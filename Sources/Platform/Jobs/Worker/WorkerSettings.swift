/// How a worker works.
public struct WorkerSettings: Sendable, Hashable {
  /// How many jobs of a queue run at once in this process.
  ///
  /// Each queue also has a share of the worker's places that no other queue's jobs get: an even part of half of them, and at least one
  /// (``WorkerSettings/share(of:)``). A worker with fewer places than queues has none to keep; its queues then take turns.
  public struct Queue: Sendable, Hashable {
    /// Its name.
    public var name: String
    /// How many at once.
    public var concurrency: Int

    /// A queue and how many of its jobs run at once.
    public init(_ name: String, concurrency: Int) {
      self.name = name
      self.concurrency = max(1, concurrency)
    }
  }

  /// The queues that it takes jobs from, in turns.
  public var queues: [Queue]
  /// How many jobs run at once in this process, of all queues.
  public var concurrency: Int
  /// How long a claimed job is this worker's, until the next sign of life: 1 s to 10 min. A killed worker's jobs run again after
  /// that and a ``poll``.
  public var lease: Duration
  /// How often it looks by itself, whatever it is notified of: what a lost notification costs at most.
  public var poll: Duration
  /// How long running jobs may take to end by themselves when the worker is to stop; then they are cancelled and given back.
  public var grace: Duration
  /// How long a run that was cancelled may take to end. A handler that is deaf to its cancellation for longer loses its job, which is tried
  /// again as after a timeout, and its place; whatever it still does counts for nothing.
  public var recallGrace: Duration
  /// How long dead jobs are kept.
  public var deadRetention: Duration
  /// What the worker is called where a job says who holds it.
  public var name: String

  /// Settings; the defaults are those of production.
  public init(
    queues: [Queue] = [Queue("default", concurrency: 32)], concurrency: Int = 64, lease: Duration = .seconds(20),
    poll: Duration = .seconds(1), grace: Duration = .seconds(5), recallGrace: Duration = .seconds(5),
    deadRetention: Duration = .seconds(30 * 86_400), name: String = "worker"
  ) {
    precondition(Set(queues.map(\.name)).count == queues.count, "a queue is named once")
    precondition(lease >= .seconds(1) && lease <= .seconds(600), "a lease lasts 1 s to 10 min")
    self.queues = queues
    self.concurrency = max(1, concurrency)
    self.lease = lease
    self.poll = max(.milliseconds(10), poll)
    self.grace = max(.zero, grace)
    self.recallGrace = max(.zero, recallGrace)
    self.deadRetention = deadRetention
    self.name = name
  }

  /// How often leases are prolonged: three times in a lease, so that two signs of life may get lost.
  var heartbeat: Duration { lease / 3 }

  /// How many places are kept for jobs of a queue, whatever others have to do.
  func share(of queue: Queue) -> Int {
    guard concurrency >= queues.count else { return 0 }
    return min(queue.concurrency, max(1, concurrency / (2 * queues.count)))
  }
}
