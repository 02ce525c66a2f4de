import ArgumentParser
import JSON
import MessagesCore
import ParleyAPI
import RPC

/// `parley jobs`: the durable jobs of a service, for operators.
struct JobsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "jobs", abstract: "See and change the durable jobs of a service, as an operator.",
    discussion: "Needs a client certificate that the service knows as an operator's: --certificate and --key.",
    subcommands: [
      ListJobs.self, ShowJob.self, RetryJob.self, PurgeJobs.self, ListQueues.self, PauseQueue.self, ResumeQueue.self,
    ], defaultSubcommand: ListJobs.self)
}

extension Connection {
  /// The jobs of the service at the other end.
  fileprivate var jobs: JobAdminService.Client { .init(channel) }
  fileprivate var plainOptions: CallOptions { CallOptions(deadline: deadline) }
}

/// `parley jobs list`
struct ListJobs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List jobs that wait, run, are held or are dead, in the order in which they were enqueued.")

  @Option(help: "Only those of this queue.") var queue: String?
  @Option(help: "Only those of this kind.") var kind: String?
  @Option(help: "Only those that are ready, scheduled, running, dead or held.") var state: JobStateArgument?
  @Option(help: .init("Only those of this person.", valueName: "user-id")) var user: String?
  @Option(help: "The most to list.") var limit = 100
  @OptionGroup var options: TargetOptions

  func validate() throws {
    guard (1...100_000).contains(limit) else { throw ValidationError("--limit is 1 to 100000.") }
  }

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      var jobs: [Job] = []
      var page = ""
      repeat {
        let response = try await connection.jobs.listJobs(
          .init(
            queue: queue ?? "", kind: kind ?? "", state: state?.state ?? .unspecified, userID: user ?? "",
            pageSize: Int32(min(500, limit - jobs.count)), pageToken: page), options: connection.plainOptions)
        jobs += response.jobs
        page = response.nextPageToken
      } while !page.isEmpty && jobs.count < limit
      if options.json {
        Console.write(json: ["jobs": .array(jobs.map { JobReport.json($0) })])
      } else {
        Console.write(JobReport.heading, rows: jobs.map(JobReport.row))
        if !page.isEmpty { Console.note("there are more: --limit") }
      }
    }
  }
}

/// `parley jobs show`
struct ShowJob: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show a job with its finished steps and what went wrong last.")

  @Argument(help: .init("The job, as 'parley jobs list' names it.", valueName: "id")) var id: String
  @OptionGroup var options: TargetOptions

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      let response = try await connection.jobs.getJob(.init(id: id), options: connection.plainOptions)
      let job = response.job ?? Job()
      if options.json {
        Console.write(json: JobReport.json(job, steps: response.steps))
      } else {
        Console.write(table: JobReport.table(job, steps: response.steps))
      }
    }
  }
}

/// `parley jobs retry`
struct RetryJob: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Let a dead job live again, or a waiting one run at once.",
    discussion: """
      Steps that are finished are not done again. With --payload-file the job carries what is in the file from now on, byte for byte; a \
      file whose name ends in .json must be JSON. What a kind of job carries is for its service to say: what that cannot read makes \
      the job dead at once, with the reason.
      """)

  /// What a job carries at most, in bytes.
  private static let longestPayload = 1 << 20

  @Argument(help: .init("The job.", valueName: "id")) var id: String
  @Option(help: .init("A file with what it carries instead, at most 1 MiB.", valueName: "file")) var payloadFile: String?
  @OptionGroup var options: TargetOptions

  func run() async throws {
    let payload = try payloadFile.map(Self.payload)
    try await Connection.call(asOperator: options) { connection in
      let request = RetryJobRequest(id: id, payload: payload.map { Bytes($0) })
      let response = try await connection.jobs.retryJob(request, options: connection.plainOptions)
      if options.json {
        Console.write(json: ["job": response.job.map { JobReport.json($0) } ?? .null])
      } else {
        switch response.job?.state {
        case nil: Console.write(line: "done already")
        case .held?: Console.write(line: "held: no worker has ever handled this kind")
        default: Console.write(line: "runs as soon as a worker has room")
        }
      }
    }
  }

  private static func payload(of file: String) throws -> [UInt8] {
    let bytes = try StandardInput.read(file: file, limit: longestPayload)
    if file.hasSuffix(".json") {
      do { _ = try JSONParser.parse(bytes) } catch { throw ValidationError("\(file) is not JSON: \(error)") }
    }
    return bytes
  }
}

/// `parley jobs purge`
struct PurgeJobs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "purge", abstract: "Remove jobs for good: some by name, or all dead ones.",
    discussion: "A job that runs stays.")

  @Argument(help: .init("Jobs that are dead or wait.", valueName: "id")) var ids: [String] = []
  @Flag(help: "Remove all dead jobs that fit the options below.") var allDead = false
  @Option(help: "Only dead jobs of this queue.") var queue: String?
  @Option(help: "Only dead jobs of this kind.") var kind: String?
  @Option(help: .init("Only what has been dead for so long: 90s, 5m.", valueName: "duration")) var deadFor: Timeout?
  @OptionGroup var options: TargetOptions

  func validate() throws {
    guard ids.isEmpty == allDead else { throw ValidationError("Give IDs or --all-dead.") }
    guard allDead || (queue == nil && kind == nil && deadFor == nil) else {
      throw ValidationError("--queue, --kind and --dead-for go with --all-dead.")
    }
  }

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      let response = try await connection.jobs.purgeJobs(
        .init(
          ids: ids, allDead: allDead, queue: queue ?? "", kind: kind ?? "",
          deadForSeconds: deadFor?.duration.components.seconds ?? 0), options: connection.plainOptions)
      if options.json {
        Console.write(json: ["purged": .number(JSONNumber(Int(response.count)))])
      } else {
        Console.write(line: "removed \(response.count) job\(response.count == 1 ? "" : "s")")
      }
    }
  }
}

/// `parley jobs queues`
struct ListQueues: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "queues", abstract: "List the queues that hold jobs or are paused.")

  @OptionGroup var options: TargetOptions

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      let queues = try await connection.jobs.listQueues(.init(), options: connection.plainOptions).queues
      if options.json {
        Console.write(json: ["queues": .array(queues.map(JobReport.json))])
      } else {
        Console.write(JobReport.queueHeading, rows: queues.map(JobReport.row))
      }
    }
  }
}

/// `parley jobs pause`
struct PauseQueue: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause", abstract: "Let no job of a queue begin; what runs goes on.")

  @Argument(help: "The queue.") var queue = "default"
  @OptionGroup var options: TargetOptions

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      let isNew = try await connection.jobs.pauseQueue(.init(queue: queue), options: connection.plainOptions).changed
      if options.json { return Console.write(json: ["changed": .bool(isNew)]) }
      Console.write(line: isNew ? "paused" : "was paused already")
    }
  }
}

/// `parley jobs resume`
struct ResumeQueue: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "resume", abstract: "End the pause of a queue.")

  @Argument(help: "The queue.") var queue = "default"
  @OptionGroup var options: TargetOptions

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      let isNew = try await connection.jobs.resumeQueue(.init(queue: queue), options: connection.plainOptions).changed
      if options.json { return Console.write(json: ["changed": .bool(isNew)]) }
      Console.write(line: isNew ? "resumed" : "was not paused")
    }
  }
}
