internal import Jobs
internal import Logging
internal import Pages
internal import ParleyAPI
internal import RPC
internal import Values

/// The queue of a service for operators.
struct JobAdminHandlers: JobAdminService.Handlers {
  private static let defaultPageSize = 50
  private static let maximumPageSize = 500
  /// How many jobs one statement removes, and how many one call does.
  private static let purgeBatch = 500
  private static let purgeLimit = 100_000

  let queue: Jobs.JobQueue
  let pages: PageKeyStore
  let log: Logger

  func listJobs(_ request: ListJobsRequest, _ call: CallContext) async throws -> ListJobsResponse {
    guard (0...Self.maximumPageSize).contains(Int(request.pageSize)) else {
      throw Self.invalid("page_size is 0 to \(Self.maximumPageSize)")
    }
    let size = request.pageSize == 0 ? Self.defaultPageSize : Int(request.pageSize)
    var after: UUID?
    let tokens = try await pages.tokens()
    if !request.pageToken.isEmpty {
      after = tokens.open(request.pageToken, in: call.method.path).flatMap { UUID(bytes: $0) }
      guard after != nil else { throw Self.invalid("page_token is not one that was handed out") }
    }
    let filter = JobFilter(
      queue: request.queue.isEmpty ? nil : request.queue, kind: request.kind.isEmpty ? nil : request.kind,
      state: try Self.state(request.state), user: request.userID.isEmpty ? nil : try Self.id(request.userID, "user_id"))
    // One more than is wanted tells whether there is another page.
    let jobs = try await queue.list(filter, after: after, atMost: size + 1)
    let page = jobs.prefix(size)
    let next = jobs.count > size ? page.last.map { tokens.seal($0.id.bytes, in: call.method.path) } : nil
    return ListJobsResponse(jobs: page.map(ParleyAPI.Job.init), nextPageToken: next ?? "")
  }

  func getJob(_ request: GetJobRequest, _ call: CallContext) async throws -> GetJobResponse {
    let id = try Self.id(request.id, "id")
    guard let job = try await queue.job(id) else { throw Self.notFound }
    let steps = try await queue.finishedSteps(of: id)
    return GetJobResponse(job: .init(job), steps: steps.map { JobStep(name: $0.name, finishedAt: .init($0.at)) })
  }

  func retryJob(_ request: RetryJobRequest, _ call: CallContext) async throws -> RetryJobResponse {
    let id = try Self.id(request.id, "id")
    guard (request.payload?.count ?? 0) <= NewJob.longestPayload else { throw Self.invalid("payload has at most 1 MiB") }
    switch try await queue.retry(id, payload: request.payload.map(Array.init)) {
    case .retried: break
    case .missing: throw Self.notFound
    case .running: throw Self.refusal(.failedPrecondition, "the job runs already", "JOB_RUNNING")
    case .taken: throw Self.refusal(.failedPrecondition, "another live job has its unique key", "UNIQUE_KEY_TAKEN")
    }
    tell("job retried", call, ["job": "\(id)", "other_payload": "\(request.payload != nil)"])
    return RetryJobResponse(job: try await queue.job(id).map(ParleyAPI.Job.init))
  }

  func purgeJobs(_ request: PurgeJobsRequest, _ call: CallContext) async throws -> PurgeJobsResponse {
    guard request.ids.isEmpty == request.allDead else { throw Self.invalid("either ids or all_dead is given") }
    guard request.ids.count <= Self.maximumPageSize else { throw Self.invalid("ids are at most \(Self.maximumPageSize)") }
    guard (0...Int64(1 << 32)).contains(request.deadForSeconds) else {
      throw Self.invalid("dead_for_seconds is 0 or more")
    }
    var count = 0
    if request.allDead {
      let filter = JobFilter(
        queue: request.queue.isEmpty ? nil : request.queue, kind: request.kind.isEmpty ? nil : request.kind)
      var batch = Self.purgeBatch
      while batch == Self.purgeBatch && count < Self.purgeLimit {
        batch = try await queue.purgeDead(nil, filter, olderThan: .seconds(request.deadForSeconds), atMost: Self.purgeBatch)
        count += batch
      }
    } else {
      let ids = try request.ids.map { id in try Self.id(id, "ids") }
      count = try await queue.purgeDead(ids, atMost: ids.count)
      count += try await queue.purgeWaiting(ids)
    }
    tell("jobs purged", call, ["count": "\(count)"])
    return PurgeJobsResponse(count: Int32(clamping: count))
  }

  func listQueues(_ request: ListQueuesRequest, _ call: CallContext) async throws -> ListQueuesResponse {
    ListQueuesResponse(queues: try await queue.statistics().map(ParleyAPI.JobQueue.init))
  }

  func pauseQueue(_ request: PauseQueueRequest, _ call: CallContext) async throws -> PauseQueueResponse {
    let name = try Self.queueName(request.queue)
    let isNew = try await queue.pause(name, by: call.peerIdentity?.name ?? "")
    if isNew { tell("queue paused", call, ["queue": "\(name)"]) }
    return PauseQueueResponse(changed: isNew)
  }

  func resumeQueue(_ request: ResumeQueueRequest, _ call: CallContext) async throws -> ResumeQueueResponse {
    let name = try Self.queueName(request.queue)
    let isNew = try await queue.resume(name)
    if isNew { tell("queue resumed", call, ["queue": "\(name)"]) }
    return ResumeQueueResponse(changed: isNew)
  }

  private func tell(_ what: String, _ call: CallContext, _ metadata: Logger.Metadata) {
    log.warning("\(what)", metadata: metadata.merging(["operator": "\(call.peerIdentity?.name ?? "")"]) { first, _ in first })
  }

  // MARK: Requests

  private static func state(_ state: ParleyAPI.JobState) throws(RPCError) -> Jobs.JobState? {
    switch state {
    case .unspecified: return nil
    case .ready: return .ready
    case .scheduled: return .scheduled
    case .running: return .running
    case .dead: return .dead
    case .held: return .held
    case .unrecognized: throw invalid("state is none")
    }
  }

  private static func id(_ text: String, _ field: String) throws(RPCError) -> UUID {
    guard let id = UUID(text) else { throw invalid("\(field) is not a UUID") }
    return id
  }

  private static func queueName(_ text: String) throws(RPCError) -> String {
    guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw invalid("queue is a name of 1 to 64 characters")
    }
    return text
  }

  private static var notFound: RPCError { refusal(.notFound, "no such job; it may be done", "JOB_NOT_FOUND") }

  private static func invalid(_ message: String) -> RPCError { refusal(.invalidArgument, message, "INVALID_REQUEST") }

  private static func refusal(_ code: StatusCode, _ message: String, _ reason: String) -> RPCError {
    RPCError(code, message, details: [.errorInfo(reason: reason, domain: "parley.jobs.v1", metadata: [:])])
  }
}
