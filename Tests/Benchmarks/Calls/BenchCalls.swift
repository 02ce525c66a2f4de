import AuthAPI
import EventLoop
import Glibc
import OnboardingAPI
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import TestParley
import TestSandbox
import TestSupport
import WellKnown

/// What `call_costs` and `submission_cpu_ms` measure: the time on processors that calls take of a service and of PostgreSQL, and what a
/// submission takes to its end. The services are processes of their own, one loop each, beside a sandbox for what they call.
@main struct BenchCalls {
  static func main() async throws {
    var options: [String: String] = [:]
    var arguments = CommandLine.arguments.dropFirst()
    while let name = arguments.popFirst(), let value = arguments.popFirst() { options[name] = value }
    guard let auth = options["--auth"], let onboarding = options["--onboarding"], getenv("PARLEY_TEST_DATABASE_URL") != nil,
      getenv("PARLEY_TEST_BINARIES") != nil
    else {
      fatalError("usage: --auth parley-auth --onboarding parley-onboarding; PARLEY_TEST_DATABASE_URL, PARLEY_TEST_BINARIES")
    }
    try await SandboxProcess.run { sandbox in
      try await TestParley.with(clock: TestClock(at: Int64(time(nil)))) { parley in
        let postmaster = try await parley.withDatabase { database in
          let file: String? = try await database.value("select pg_read_file('postmaster.pid')")
          guard let line = file?.split(separator: "\n").first, let id = pid_t(line) else { throw TimedOut("a postmaster") }
          return id
        }
        let ground = Ground(parley: parley, sandbox: sandbox, postmaster: postmaster)
        var calls = try await ground.auth(auth)
        let (more, submission) = try await ground.onboarding(onboarding)
        calls += more
        let lines = calls.map { name, alone, saturated in
          #""\#(name)": {"alone": \#(json(alone)), "saturated": \#(json(saturated))}"#
        }
        print(#"{"calls": {\#(lines.joined(separator: ", "))}, "submission": \#(submission)}"#)
      }
    }
  }

  private static func json(_ cost: CallMeasurement.Cost) -> String {
    #"{"service_us": \#(cost.service), "postgres_us": \#(cost.postgres), "p50_us": \#(cost.median)}"#
  }
}

/// What is measured stands on.
struct Ground: Sendable {
  typealias Measured = (name: String, alone: CallMeasurement.Cost, saturated: CallMeasurement.Cost)

  let parley: TestParley
  let sandbox: SandboxProcess
  let postmaster: pid_t

  /// No limit is in the way of one address and few people.
  private static let unlimited = ["ADDRESS_LIMIT_PER_MIN": "10000000", "ADDRESS_LIMIT_BURST": "10000000"]

  /// The services go by the machine's clock.
  private func setClock() {
    parley.clock.advance(by: .seconds(max(0, Int64(time(nil)) - parley.clock.unixSeconds)))
  }

  private func options(_ token: String? = nil) -> CallOptions {
    CallOptions(metadata: token.map { ["authorization": "Bearer \($0)"] } ?? [:], deadline: .after(.seconds(120)))
  }

  // MARK: The auth service

  func auth(_ binary: String) async throws -> [Measured] {
    let settings = try await parley.environment(
      of: AuthAPI.AuthService.self,
      changes: Self.unlimited.merging(["RATE_BURST": "1000000", "IP_BURST": "1000000", "JOBS_POLL": "5s"]) { $1 })
    return try await MeasuredProcess.with(binary, "PARLEY_AUTH_", settings, on: parley.loops) { process in
      let measurement = try await CallMeasurement(of: process.id, and: postmaster)
      let (channel, parley) = (process.channel, parley)
      let auth = ParleyAPI.AuthService.Client(channel)
      var measured: [Measured] = []
      func measure(
        _ name: String, _ alone: Int, _ crowd: Int, _ ready: (Int, Int) async throws -> CallMeasurement.Call
      ) async throws {
        setClock()
        let cost = try await measurement.cost(alone: alone, crowd: crowd, ready)
        measured.append((name, cost.alone, cost.saturated))
      }
      let health = GRPCHealthV1.Health.Client(channel)
      let plain = options()
      try await measure("Health/Check", 2_000, 20_000) { _, _ in { _ = try await health.check(options: plain) } }
      setClock()
      let ana = options(try await parley.signIn("ana", at: channel).accessToken)
      try await measure("GetProfile", 1_000, 10_000) { _, _ in { _ = try await auth.getProfile(options: ana) } }
      try await measure("BeginSignIn", 500, 4_000) { _, _ in
        { _ = try await auth.beginSignIn(.init(provider: .google), options: plain) }
      }
      try await measure("SignInWithGoogle", 250, 1_600) { caller, number in
        let nonce = try await auth.beginSignIn(.init(provider: .google), options: plain)
        let token = try parley.idToken(of: "person \(caller)", nonce: nonce.providerNonce)
        return { _ = try await auth.signInWithGoogle(.init(idToken: token, nonce: nonce.nonce), options: plain) }
      }
      try await measure("RefreshSession", 250, 1_600) { caller, number in
        let token = try await parley.signIn("person \(caller)", at: channel).tokens.refreshToken
        return {
          _ = try await auth.refreshSession(.init(refreshToken: token, attempt: "attempt-\(number)-of-the-bench"), options: plain)
        }
      }
      let broker = TokenBrokerService.Client(channel)
      setClock()
      let known = try (0..<64).map { options(try parley.idToken(of: "person \($0)", nonce: "of-the-bench")) }
      try await measure("ExchangeToken, known token", 500, 4_000) { _, number in
        { _ = try await broker.exchangeToken(options: known[number % known.count]) }
      }
      return measured
    }
  }

  // MARK: The onboarding service

  func onboarding(_ binary: String) async throws -> (calls: [Measured], submission: String) {
    let scratch = try ScratchFolder()
    let authorities = scratch.path + "/authorities.pem"
    try ChildProcess.run(["cat", parley.authorityFile, sandbox.caFile], output: authorities)
    let limits = ["steps", "answers", "complete", "watches", "uploads"].map { "\($0)=1000000/1000000" }
    let settings = try await parley.environment(
      of: OnboardingAPI.OnboardingService.self,
      changes: Self.unlimited.merging([
        "OUTBOUND_CA_FILE": authorities, "OPENAI_BASE_URL": sandbox.openAI, "OPENAI_API_KEY": "sk-sandbox",
        "ELEVENLABS_BASE_URL": sandbox.elevenLabs, "ELEVENLABS_API_KEY": "xi-sandbox", "BLOBS_DIRECTORY": scratch.path + "/blobs",
        "RATE_LIMITS": limits.joined(separator: ","),
      ]) { $1 })
    let answers = try Recordings.answers()
    return try await MeasuredProcess.with(binary, "PARLEY_ONBOARDING_", settings, on: parley.loops) { process in
      let measurement = try await CallMeasurement(of: process.id, and: postmaster)
      let client = ParleyAPI.OnboardingService.Client(process.channel)
      var people = 0
      func person() async throws -> CallOptions {
        people += 1
        setClock()
        let user = try await parley.signIn("onboarding \(people)")
        parley.subscribe(user)
        return options(user.accessToken)
      }
      let submission = try await submissions(measurement, client, answers, person)
      var measured: [Measured] = []
      func measure(
        _ name: String, _ alone: Int, _ crowd: Int, _ ready: (CallOptions, Int) async throws -> CallMeasurement.Call
      ) async throws {
        var callers: [CallOptions] = []
        for _ in 0..<16 { callers.append(try await person()) }
        let cost = try await measurement.cost(alone: alone, crowd: crowd) { try await ready(callers[$0], $1) }
        measured.append((name, cost.alone, cost.saturated))
      }
      try await measure("ListSteps", 1_000, 10_000) { _, _ in
        { [plain = options()] in _ = try await client.listSteps(options: plain) }
      }
      try await measure("GetProgress", 1_000, 4_000) { options, _ in { _ = try await client.getProgress(options: options) } }
      try await measure("SaveAnswer, text", 400, 1_600) { options, number in
        let answer = OnboardingAnswer(type: "text", value: .init(kind: .stringValue("Ana \(number)")))
        return { _ = try await client.saveAnswer(.init(step: 3, answer: answer), options: options) }
      }
      try await measure("SaveAnswer, voice of 200 KB", 100, 320) { options, number in
        let answer = OnboardingAnswer(type: "voice", value: .init(kind: .stringValue(Recordings.tone(number))))
        return { _ = try await client.saveAnswer(.init(step: 2, answer: answer), options: options) }
      }
      return (measured, submission)
    }
  }

  /// One after the other, each with all that comes of it; the calls alone are measured beside that.
  private func submissions(
    _ measurement: CallMeasurement, _ client: ParleyAPI.OnboardingService.Client, _ answers: [String: OnboardingAnswer],
    _ person: () async throws -> CallOptions
  ) async throws -> String {
    let request = CompleteRequest(state: .init(responses: answers), wait: .init())
    var calls: [(service: Double, children: Double, postgres: Double)] = []
    var wholes: [(service: Double, children: Double, postgres: Double)] = []
    for number in 0..<6 {
      let options = try await person()
      let call = Reported()
      let whole = try await measurement.whole {
        call.cost = try await measurement.whole { _ = try await client.complete(request, options: options) }
        let last = try await client.watchSubmission(options: options) { responses in
          var last = SubmissionStage.unspecified
          for try await response in responses { last = response.submission?.stage ?? last }
          return last
        }
        guard last == .done else { throw TimedOut("a submission that is done: \(last)") }
      }
      // What a first one brings is nobody's.
      guard number > 0 else { continue }
      wholes.append(whole)
      calls.append(call.cost)
    }
    func json(_ costs: [(service: Double, children: Double, postgres: Double)]) -> String {
      let figures = [
        ("service_ms", costs.map(\.service)), ("children_ms", costs.map(\.children)), ("postgres_ms", costs.map(\.postgres)),
      ]
      return "{" + figures.map { #""\#($0)": \#(CallMeasurement.median($1))"# }.joined(separator: ", ") + "}"
    }
    return #"{"complete": \#(json(calls)), "whole": \#(json(wholes))}"#
  }

  /// What a part of a whole has cost.
  private final class Reported {
    var cost = (service: 0.0, children: 0.0, postgres: 0.0)
  }
}
