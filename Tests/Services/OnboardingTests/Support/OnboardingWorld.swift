import AuthDomain
import EventLoop
import Foundation
import Glibc
import JOSE
import JSON
import Logging
import MessagesCore
import OnboardingAPI
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import WellKnown

/// The onboarding service with a database of its own and a fresh sandbox, beside an auth service.
struct OnboardingWorld: Sendable {
  let parley: TestParley
  let sandbox: SandboxProcess
  let instance: ServiceInstance
  let channel: ClientChannel
  let http: HTTPClient
  /// Where recordings are kept.
  let folder: String

  static let debugToken = "planted-debug-token"

  var client: ParleyAPI.OnboardingService.Client { .init(channel) }
  var identity: IdentityService.Client { .init(channel) }
  var voices: VoiceService.Client { .init(channel) }
  /// Where the service answers HTTP and Connect.
  var address: String { "https://127.0.0.1:\(instance.addresses.tls?.port ?? 0)" }

  /// Starts everything for the length of `body`.
  ///
  /// - Parameters:
  ///   - changes: Settings of the service, without `PARLEY_ONBOARDING_`. An empty one is none.
  ///   - authorities: Files of more authorities that it trusts.
  ///   - inBucket: Whether recordings are kept in the sandbox's bucket. It judges signatures by the true time, which is the service's then.
  ///   - log: Where its log goes; nowhere without it.
  ///   - costs: Who counts what its calls cost the database.
  ///   - body: Gets all of it.
  static func with(
    _ changes: [String: String] = [:], trusting authorities: [String] = [], inBucket: Bool = false, log: Logger? = nil,
    costs: CallCosts? = nil, _ body: @escaping @Sendable (OnboardingWorld) async throws -> Void
  ) async throws {
    try await restarting(changes, trusting: authorities, inBucket: inBucket, log: log, costs: costs, doing: [body])
  }

  /// Starts everything, and stops the service and starts it anew between one body and the next.
  static func restarting(
    _ changes: [String: String] = [:], trusting authorities: [String] = [], inBucket: Bool = false, log: Logger? = nil,
    costs: CallCosts? = nil, doing bodies: [@Sendable (OnboardingWorld) async throws -> Void]
  ) async throws {
    try await SandboxProcess.run { sandbox in
      try await restarting(
        changes, with: sandbox, trusting: authorities, inBucket: inBucket, log: log, costs: costs, doing: bodies)
    }
  }

  /// As ``restarting(_:trusting:inBucket:log:costs:doing:)``, beside a sandbox that the test has started.
  static func restarting(
    _ changes: [String: String] = [:], with sandbox: SandboxProcess, trusting authorities: [String] = [], inBucket: Bool = false,
    log: Logger? = nil, costs: CallCosts? = nil, doing bodies: [@Sendable (OnboardingWorld) async throws -> Void]
  ) async throws {
    try await TestParley.with(clock: inBucket ? TestClock(at: Int64(time(nil))) : TestClock()) { parley in
      let scratch = try ScratchFolder()
      let (environment, bundle) = try settings(parley, sandbox, in: scratch, trusting: authorities)
      let place = try await inBucket ? bucket(of: sandbox) : [:]
      let given = environment.merging(place) { $1 }.merging(changes) { $1 }.filter { !$0.value.isEmpty }
      for body in bodies {
        try await parley.with(OnboardingAPI.OnboardingService.self, settings: given, log: log, costs: costs) {
          instance, channel in
          var configuration = HTTPClientConfiguration()
          configuration.caFile = bundle
          configuration.circuit = nil
          let http = try HTTPClient(loops: parley.loops.loops, configuration: configuration)
          let world = OnboardingWorld(
            parley: parley, sandbox: sandbox, instance: instance, channel: channel, http: http, folder: scratch.path + "/blobs")
          let result = await Result.of { try await body(world) }
          await http.shutDown()
          try result.get()
        }
      }
      withExtendedLifetime(scratch) {}
    }
  }

  /// What the service is told of the sandbox and of its folder, and the file with all authorities that it trusts.
  static func settings(
    _ parley: TestParley, _ sandbox: SandboxProcess, in scratch: ScratchFolder, trusting others: [String] = []
  ) throws -> (environment: [String: String], bundle: String) {
    let authorities = try ([parley.authorityFile, sandbox.caFile] + others).map {
      try String(contentsOfFile: $0, encoding: .utf8)
    }
    let bundle = scratch.path + "/authorities.pem"
    try authorities.joined(separator: "\n").write(toFile: bundle, atomically: true, encoding: .utf8)
    let environment = [
      "OUTBOUND_CA_FILE": bundle, "OPENAI_BASE_URL": sandbox.openAI, "OPENAI_API_KEY": "sk-sandbox",
      "OPENAI_IDEMPOTENCY_HEADER": "Idempotency-Key", "ELEVENLABS_BASE_URL": sandbox.elevenLabs,
      "ELEVENLABS_API_KEY": "xi-sandbox", "BLOBS_DIRECTORY": scratch.path + "/blobs", "JOBS_POLL": "50ms",
      "DEBUG_TOKEN": debugToken, "COMPLETE_WAIT": "50s", "DATABASE_POOL": "8",
    ]
    return (environment, bundle)
  }

  /// What the service is told of the sandbox's bucket.
  private static func bucket(of sandbox: SandboxProcess) async throws -> [String: String] {
    let access = try await sandbox.control(.get, "s3/access")
    var settings = ["BLOBS_KIND": "s3", "BLOBS_S3_ENDPOINT": sandbox.url, "BLOBS_DIRECTORY": ""]
    let names = ["BUCKET": "bucket", "REGION": "region", "ACCESS_KEY_ID": "accessKeyId", "SECRET_ACCESS_KEY": "secretAccessKey"]
    for (name, member) in names { settings["BLOBS_S3_\(name)"] = access[member]?.string }
    return settings
  }

  /// Somebody who is signed in and has paid.
  func signIn(_ name: String) async throws -> TestUser {
    let user = try await parley.signIn(name)
    parley.subscribe(user)
    return user
  }

  /// What a call of somebody's carries, with time enough for a slow machine.
  static func options(_ user: TestUser) -> CallOptions {
    CallOptions(metadata: ["authorization": "Bearer \(user.accessToken)"], deadline: .after(.seconds(55).withPatience))
  }

  /// Sends a body to one of the first app's paths.
  func post(
    _ path: String, _ body: [UInt8], as user: TestUser?, _ headers: HTTPHeaders = ["Content-Type": "application/json"],
    method: HTTPMethod = .post
  ) async throws -> (status: Int, body: JSONValue) {
    var request = HTTPRequest(method, address + path, headers: headers, body: method == .get ? nil : body)
    request.timeout = .seconds(100).withPatience
    if let user { request.headers.add("Authorization", "Bearer \(user.accessToken)") }
    let response = try await http.send(request)
    return (response.status, (try? JSONParser.parse(response.body)) ?? .null)
  }

  // MARK: Records

  /// A whole record: 33 answers to the steps of the catalogue that take one, and the twelve others as the first app counted them.
  ///
  /// - Parameters:
  ///   - voices: How many of the fifteen recordings are recordings; the others are text.
  ///   - variant: Another record for each.
  static func record(voices: Int = 15, variant: Int = 0) throws -> OnboardingState {
    var responses: [String: OnboardingAnswer] = [:]
    var spoken = 0
    for (step, type) in Self.types {
      let minute = step < 10 ? "0\(step)" : "\(step)"
      var answer = OnboardingAnswer(type: type, timestamp: "2026-01-05T10:\(minute):00.000Z")
      switch type {
      case "voice" where spoken < voices:
        let bytes = try SpokenFiles.m4a(spoken + variant * 100)
        spoken += 1
        answer.value = .spoken(bytes)
        answer.duration = 7
        answer.audioFileSize = Int64(bytes.count)
        answer.audioFormat = "m4a"
      case "dual_sliders": answer.value = .written("7,9")
      case "time_window_picker": answer.value = .written("20:30-21:00")
      case "long_press_activate":
        answer.value = .written("true")
        answer.duration = 7
      case "text" where step == 3: answer.value = .written(" Ana \(variant) ")
      default: answer.value = .written("the answer to step \(step)")
      }
      responses["\(step)"] = answer
    }
    return OnboardingState(
      currentStep: 45, responses: responses, totalResponses: Int32(responses.count), progressPercentage: 100,
      startedAt: "2026-01-05T10:00:00.000Z", lastSavedAt: "2026-01-05T10:50:00.000Z", isCompleted: true,
      completedAt: "2026-01-05T10:50:00.000Z", userTimezone: "Europe/Berlin")
  }

  /// Every step with how it is answered; a step to read counts as text here, as the first app stored 45 answers.
  private static let types: [(Int, String)] = (1...45).map { step in
    switch step {
    case 2, 5, 7, 10, 14, 16, 22, 23, 26, 27, 31, 35, 41, 42, 44: (step, "voice")
    case 6, 12, 15, 24, 34, 39: (step, "choice")
    case 11: (step, "dual_sliders")
    case 37: (step, "time_window_picker")
    case 43: (step, "long_press_activate")
    default: (step, "text")
    }
  }

  /// The recordings of a record, by step.
  static func recordings(in state: OnboardingState) throws -> [Int: [UInt8]] {
    var found: [Int: [UInt8]] = [:]
    for (key, answer) in state.responses {
      guard case .stringValue(let text) = answer.value?.kind, text.hasPrefix("data:audio/") else { continue }
      let encoded = text.split(separator: ",")[1]
      found[Int(key) ?? 0] = [UInt8](Data(base64Encoded: String(encoded)) ?? Data())
    }
    return found
  }

  /// Starts another copy of the service for the length of `body`: the same database and recordings, memory of its own.
  func withCopy(_ body: @escaping @Sendable (ParleyAPI.OnboardingService.Client) async throws -> Void) async throws {
    let scratch = try ScratchFolder()
    var settings = try Self.settings(parley, sandbox, in: scratch).environment
    settings["BLOBS_DIRECTORY"] = folder
    try await parley.with(OnboardingAPI.OnboardingService.self, settings: settings) { _, channel in
      try await body(ParleyAPI.OnboardingService.Client(channel))
    }
    withExtendedLifetime(scratch) {}
  }

  /// How many wait for locks of a kind in the database: `advisory`, `relation`, `transactionid`.
  func waiting(for kind: String) async throws -> Int64 {
    try await value(
      """
      select count(*) from pg_locks as held join pg_stat_activity as session using (pid)
      where held.locktype = \(kind) and not held.granted and session.datname = current_database()
      """, as: Int64.self) ?? 0
  }

  /// What the database says.
  func value<Value: SQLDecodable>(_ query: Query, as type: Value.Type = Value.self) async throws -> Value? {
    try await parley.withDatabase { try await $0.value(query) }
  }
}
