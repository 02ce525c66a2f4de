internal import Jobs
internal import ParleyAPI
internal import Values
internal import WellKnown

extension ParleyAPI.Job {
  init(_ job: StoredJob) {
    let state: ParleyAPI.JobState =
      switch job.state {
      case .ready: .ready
      case .scheduled: .scheduled
      case .running: .running
      case .dead: .dead
      case .held: .held
      }
    self.init(
      id: "\(job.id)", kind: job.kind, version: Int32(clamping: job.version), queue: job.queue, state: state,
      priority: Int32(clamping: job.priority), uniqueKey: job.uniqueKey ?? "", userID: job.user.map { "\($0)" } ?? "",
      attempt: Int32(clamping: job.attempt), maxAttempts: Int32(clamping: job.maximumAttempts), enqueuedAt: .init(job.enqueuedAt),
      at: .init(job.at), holder: job.holder, lastError: job.lastError, reason: job.reason, steps: Int32(clamping: job.steps),
      progressDone: Int64(job.progress.done), progressTotal: Int64(job.progress.total), progressNote: job.progress.note,
      payloadLength: Int32(clamping: job.payloadLength))
  }
}

extension ParleyAPI.JobQueue {
  init(_ queue: QueueStatistics) {
    self.init(
      name: queue.name, ready: Int64(queue.ready), scheduled: Int64(queue.scheduled), running: Int64(queue.running),
      dead: Int64(queue.dead), oldestReadyAt: queue.oldestDueAt.map { .init($0) }, paused: queue.isPaused,
      held: Int64(queue.held))
  }
}

extension GoogleProtobuf.Timestamp {
  init(_ time: Instant) {
    self.init(seconds: time.seconds, nanos: Int32(time.microsecondOfSecond * 1_000))
  }
}
