import EventLoop
import RPC

/// One thing that is shown.
struct DemoStep: Sendable {
  let title: String
  /// Does it and says what was seen.
  let show: @Sendable (DemoStage) async throws -> String

  init(_ title: String, _ show: @escaping @Sendable (DemoStage) async throws -> String) {
    self.title = title
    self.show = show
  }
}

/// What did not go as it should.
struct StepFailure: Error, CustomStringConvertible {
  let expected: String
  let came: String

  var description: String { "expected \(expected); came \(came)" }
}

/// The error that `call` throws; nil when it succeeds.
func refusal(of call: () async throws -> Void) async throws -> RPCError? {
  do { try await call() } catch let error as RPCError { return error }
  return nil
}

/// Tries every half second until `body` works; what it threw last is told in the failure.
func eventually(_ what: String, within limit: Duration, _ body: () async throws -> Void) async throws {
  let end = MonotonicInstant.now().advanced(by: limit)
  while true {
    do { return try await body() } catch let error as RPCError {
      guard MonotonicInstant.now() < end else { throw StepFailure(expected: "\(what) within \(limit)", came: "\(error)") }
      try await Task.sleep(for: .milliseconds(500))
    }
  }
}
