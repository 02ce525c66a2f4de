import AuthDomain
import EventLoop
import Foundation
import Glibc
import JOSE
import JSON
import MessagesCore
import OnboardingAPI
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import Synchronization
import TestParley
import TestSandbox
import TestSupport
import WellKnown

/// The onboarding service as a process of its own, beside an auth service of the test's, for as many submissions as a test likes.
// SAFETY: one test has it, and takes one step after the other; `runs` and `kills` are all that changes.
final class CrashGround: @unchecked Sendable {
  /// What became of a submission, without what is another one each time.
  struct Outcome: Equatable, CustomStringConvertible {
    var course: [String]
    var answers: Int32
    var transcripts: [String]
    var fields: [String]
    var hasVoice: Bool
    var blobs: Int
    var paid: [String: Int64]

    var description: String { "\(course) \(answers) \(transcripts) \(fields.count) fields \(hasVoice) \(blobs) blobs \(paid)" }
  }

  private let parley: TestParley
  private let sandbox: SandboxProcess
  private let service: OnboardingProcess
  private let folder: String
  private let pool = BlockingPool(maximumThreads: 1)
  private var runs = 0
  private(set) var kills = 0

  private init(_ parley: TestParley, _ sandbox: SandboxProcess, _ variables: [String: String], _ folder: String) {
    self.parley = parley
    self.sandbox = sandbox
    self.folder = folder
    service = OnboardingProcess(variables: variables, folder: folder, loops: parley.loops)
  }

  static func with(_ sandbox: SandboxProcess, _ body: @escaping @Sendable (CrashGround) async throws -> Void) async throws {
    try await TestParley.with(clock: TestClock(at: Int64(time(nil)))) { parley in
      let scratch = try ScratchFolder()
      var changes = try OnboardingWorld.settings(parley, sandbox, in: scratch).environment
      changes["JOBS_LEASE"] = "1s"
      changes["LISTEN"] = "unix:\(scratch.path)/s"
      let environment = try await parley.environment(of: OnboardingAPI.OnboardingService.self, changes: changes)
      let ground = CrashGround(parley, sandbox, environment, scratch.path)
      let result = await Result.of { try await body(ground) }
      ground.pool.shutDown()
      try result.get()
    }
  }

  /// What becomes of a new person's submission while the process is killed at a point.
  func outcome(of point: CrashTests.Point?, recordings: Int) async throws -> Outcome {
    runs += 1
    let now = Int64(time(nil))
    parley.clock.advance(by: .seconds(max(0, now - parley.clock.unixSeconds)))
    let user = try await parley.signIn("person \(runs)")
    parley.subscribe(user)
    try await sandbox.control(.delete, "effects")
    try await sandbox.control(.delete, "elevenlabs/voices")
    if case .call(let path, let number, let isBefore) = point {
      try await sandbox.control(
        .post, "hold",
        ["path": .string(path), "count": 1, "skip": .number(JSONNumber(number - 1)), "before": .bool(isBefore)])
    }
    var process = try start()
    do {
      let outcome = try await run(user, point, recordings) { try await self.restart(&process) }
      try await stop(process, SIGTERM)
      return outcome
    } catch {
      try? await stop(process, SIGKILL)
      _ = try? await sandbox.control(.delete, "hold")
      throw error
    }
  }

  private func run(
    _ user: TestUser, _ point: CrashTests.Point?, _ recordings: Int, _ crash: () async throws -> Void
  ) async throws -> Outcome {
    let request = CompleteRequest(
      state: try OnboardingWorld.record(voices: recordings, variant: 50), voiceConsent: .init(isGiven: true, statement: "v1"),
      wait: .init())
    _ = try await call { channel in
      try await ParleyAPI.OnboardingService.Client(channel).complete(request, options: OnboardingWorld.options(user))
    }
    var told: [WatchSubmissionResponse] = []
    if case .event(let count) = point {
      told = try await watch(user, after: "", upTo: count)
      try await crash()
    } else if point != nil {
      try await sandbox.awaitHeld(1)
      try await crash()
      try await sandbox.control(.delete, "hold")
    }
    while told.last?.submission?.stage.isEnd != true {
      told += try await watch(user, after: told.last?.submission?.position ?? "", upTo: .max)
    }
    return try await outcome(of: user, told)
  }

  private func outcome(of user: TestUser, _ told: [WatchSubmissionResponse]) async throws -> Outcome {
    let options = OnboardingWorld.options(user)
    let progress = try await call { try await ParleyAPI.OnboardingService.Client($0).getProgress(options: options) }
    let clips = try await call { try await VoiceService.Client($0).listVoiceClips(options: options).clips }
    let fields = try await call { try await IdentityService.Client($0).getIdentity(options: options).identity?.fields ?? [] }
    let voice = try await call { try await VoiceService.Client($0).getVoice(options: options).voice }
    var paid: [String: Int64] = [:]
    for kind in ["transcriptions", "chats", "voices"] { paid[kind] = try await sandbox.effects(kind)["paid"]?.int64 }
    let offsets = told.compactMap { $0.submission?.position.split(separator: ":").last }
    guard offsets == (1...max(1, offsets.count)).map({ Substring("\($0)") }) else {
      throw TimedOut("a course without gaps: \(offsets)")
    }
    return Outcome(
      // Which of several recordings that are written down at once comes first is chance.
      course: told.compactMap(\.submission).map { "\($0.stage) \($0.done)/\($0.total)" },
      answers: Int32(progress.state?.responses.count ?? 0), transcripts: clips.map { "\($0.stepID) \($0.transcription ?? "-")" },
      fields: fields.map { "\($0.name)=\($0.value)" }, hasVoice: voice?.state == .ready,
      blobs: (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/blobs/\(user.userID)").count) ?? 0, paid: paid)
  }

  // MARK: Calls

  /// The events behind a place; fewer when the process goes away.
  private func watch(_ user: TestUser, after: String, upTo limit: Int) async throws -> [WatchSubmissionResponse] {
    try await call { channel in
      let gathered = Told()
      do {
        try await ParleyAPI.OnboardingService.Client(channel).watchSubmission(
          .init(after: after), options: OnboardingWorld.options(user)
        ) { responses in
          for try await response in responses where gathered.add(response) == limit { break }
        }
      } catch  where !gathered.all.isEmpty {}
      return gathered.all
    }
  }

  private func call<Value: Sendable>(_ body: @escaping @Sendable (ClientChannel) async throws -> Value) async throws -> Value {
    try await service.call(body)
  }

  // MARK: The process

  private func start() throws -> pid_t { try service.start() }

  private func restart(_ process: inout pid_t) async throws {
    kills += 1
    try await stop(process, SIGKILL)
    process = try start()
  }

  private func stop(_ process: pid_t, _ signal: Int32) async throws { try await service.stop(process, signal, on: pool) }
}

/// What was told before a stream broke.
private final class Told: Sendable {
  private let responses = Mutex<[WatchSubmissionResponse]>([])

  var all: [WatchSubmissionResponse] { responses.withLock { $0 } }

  /// - Returns: How many there are.
  func add(_ response: WatchSubmissionResponse) -> Int {
    responses.withLock { responses in
      responses.append(response)
      return responses.count
    }
  }
}

extension SubmissionStage {
  /// Whether nothing follows.
  var isEnd: Bool { self == .done || self == .failed }
}
