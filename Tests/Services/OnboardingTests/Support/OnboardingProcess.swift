import EventLoop
import Foundation
import Glibc
import RPC
import RPCClient
import TestParley
import TestSupport

/// The service as a process of its own, by what is built of it.
struct OnboardingProcess: Sendable {
  /// Its settings, without `PARLEY_ONBOARDING_`; it listens at `unix:FOLDER/s`.
  let variables: [String: String]
  /// Where its socket and its log are.
  let folder: String
  let loops: EventLoopGroup

  /// Starts it.
  ///
  /// - Returns: The process.
  func start() throws -> pid_t {
    guard let binaries = ProcessInfo.processInfo.environment["PARLEY_TEST_BINARIES"] else {
      throw TimedOut("PARLEY_TEST_BINARIES")
    }
    return try ChildProcess.start(
      ["env"] + variables.map { "PARLEY_ONBOARDING_\($0.key)=\($0.value)" } + [binaries + "/parley-onboarding", "serve"],
      output: "\(folder)/log")
  }

  /// Ends it, and waits for that on a thread of `pool`.
  func stop(_ process: pid_t, _ signal: Int32, on pool: BlockingPool) async throws {
    kill(process, signal)
    try await pool.run { _ = ChildProcess.wait(process) }
  }

  /// Calls by a connection of its own, until somebody answers: the process may only just be there.
  func call<Value: Sendable>(_ body: @escaping @Sendable (ClientChannel) async throws -> Value) async throws -> Value {
    let end = MonotonicInstant.now().advanced(by: Duration.seconds(30).withPatience)
    while true {
      let channel = ClientChannel(to: .unix(path: "\(folder)/s"), on: loops)
      let result = await Result.of { try await body(channel) }
      await channel.close()
      if case .failure(let error as RPCError) = result, error.code == .unavailable, MonotonicInstant.now() < end {
        try await Task.sleep(for: .milliseconds(20))  // between two attempts
        continue
      }
      return try result.get()
    }
  }
}
