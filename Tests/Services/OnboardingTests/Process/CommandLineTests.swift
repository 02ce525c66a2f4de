import AuthDomain
import EventLoop
import Foundation
import JSON
import MessagesCore
import ParleyAPI
import PostgreSQL
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import Testing
import Values

/// The built `parley` beside the true services, as people have them.
@Suite("The command line against the service", .serialized)
struct CommandLineTests {
  /// A command of somebody's, whose files are in a folder.
  private struct CommandLine: Sendable {
    let program: String
    let home: String
    let variables: [String]
    let pool: BlockingPool

    init(_ world: OnboardingWorld, in folder: ScratchFolder, _ pool: BlockingPool) throws {
      guard let binaries = ProcessInfo.processInfo.environment["PARLEY_TEST_BINARIES"] else {
        throw TimedOut("PARLEY_TEST_BINARIES")
      }
      program = "\(binaries)/parley"
      home = folder.path
      variables = [
        "PATH=/usr/bin:/bin", "HOME=\(folder.path)", "PARLEY_TARGET=127.0.0.1:\(world.parley.auth.addresses.grpc?.port ?? 0)",
        "PARLEY_ONBOARDING_TARGET=127.0.0.1:\(world.instance.addresses.grpc?.port ?? 0)",
      ]
      self.pool = pool
    }

    /// Runs a command to its end.
    func run(_ arguments: [String]) async throws -> (status: Int32, output: String) {
      try await start([program] + arguments)
    }

    /// Runs a command on a terminal of its own.
    func runOnTerminal(_ arguments: [String]) async throws -> (status: Int32, output: String) {
      try await start(["script", "-qec", ([program] + arguments).joined(separator: " "), "/dev/null"])
    }

    private func start(_ command: [String]) async throws -> (status: Int32, output: String) {
      let output = "\(home)/output-\(Values.UUID.v7())"
      let sanitizers = ChildProcess.sanitizerVariables.map { "\($0.key)=\($0.value)" }
      let process = try ChildProcess.start(["env", "-i"] + variables + sanitizers + command, output: output)
      let status = try await pool.run { ChildProcess.wait(process) }
      return (status, try String(contentsOfFile: output, encoding: .utf8))
    }
  }

  /// Signs somebody in at the command line, who has paid.
  private static func signIn(_ name: String, _ command: CommandLine, _ world: OnboardingWorld) async throws {
    let begun = try await command.run(["login", "--begin", "--json"])
    #expect(begun.status == 0, "\(begun.output)")
    let challenge = try JSONParser.parse(Array(begun.output.utf8))
    let token = try world.parley.idToken(of: name, nonce: challenge["provider_nonce"]?.string ?? "")
    let file = "\(command.home)/token"
    try token.write(toFile: file, atomically: true, encoding: .utf8)
    let ended = try await command.run([
      "login", "--id-token-file", file, "--nonce", challenge["nonce"]?.string ?? "", "--json",
    ])
    #expect(ended.status == 0, "\(ended.output)")
    let session = try JSONParser.parse(Array(ended.output.utf8))
    world.parley.directory.begin(session["session_id"]?.string ?? "")
    world.parley.directory.subscribe(session["profile"]?["user_id"]?.string ?? "")
  }

  @Test("O-01, O-20, O-38: push --sample --watch draws its bar to the end, and everything is made of the sample's answers")
  func push() async throws {
    try await OnboardingWorld.with { world in
      let folder = try ScratchFolder()
      let pool = BlockingPool(maximumThreads: 1)
      let result = await Result.of {
        let command = try CommandLine(world, in: folder, pool)
        try await Self.signIn("ana", command, world)
        let pushed = try await command.runOnTerminal(["onboarding", "push", "--sample", "--watch", "--consent"])
        #expect(pushed.status == 0, "\(pushed.output)")
        // One line that is drawn anew, from the upload over the work to the end.
        let bars = pushed.output.split(separator: "\r").filter { $0.hasPrefix("[") }
        #expect(bars.count > 3 && bars.contains { $0.contains(" 40%  Uploading your responses") }, "\(pushed.output)")
        #expect(bars.contains { $0.contains(" 80%  Listening to your recordings: ") }, "\(pushed.output)")
        #expect(bars.last?.hasPrefix("[########################] 100%  All set.") == true, "\(pushed.output)")
        let percents = bars.compactMap { Int($0.dropFirst(26).prefix(4).trimmingCharacters(in: .whitespaces)) }
        #expect(percents == percents.sorted() && percents.count == bars.count, "it never goes back: \(percents)")
        #expect(pushed.output.contains("stage        done"), "\(pushed.output)")
        #expect(try await world.value("select count(*) from onboarding.recording where state = 'done'", as: Int64.self) == 15)
        #expect(try await world.value("select state from onboarding.voice", as: String.self) == "ready")
        #expect(try await world.sandbox.effects("transcriptions")["paid"]?.int64 == 15)
        // What others of its commands tell of it.
        let status = try await command.run(["onboarding", "status"])
        #expect(status.status == 0 && status.output.contains("answers  33") && status.output.contains("done"), "\(status.output)")
        let identity = try await command.run(["onboarding", "identity", "--json"])
        let fields = try JSONParser.parse(Array(identity.output.utf8))["identity"]?["fields"]?.array
        #expect(fields?.count == 60, "\(identity.output)")
      }
      pool.shutDown()
      try result.get()
      withExtendedLifetime(folder) {}
    }
  }
}
