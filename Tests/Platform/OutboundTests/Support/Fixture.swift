import EventLoop
import Logging
import Outbound
import Synchronization
import Testing

/// One suite for all, so that the tests of this target run one after the other: several compare times.
@Suite("Outbound HTTP", .serialized)
enum OutboundTests {}

/// A client on one loop and a stub to talk to.
func withClient(
  _ configuration: HTTPClientConfiguration = .init(), clock: OutboundClock = .system, loops: Int = 1,
  answering answer: @escaping @Sendable (StubServer.Request) -> StubServer.Answer,
  _ body: @escaping @Sendable (HTTPClient, StubServer) async throws -> Void
) async throws {
  let stub = try StubServer(answer)
  defer { stub.stop() }
  try await withClient(configuration, clock: clock, loops: loops) { try await body($0, stub) }
}

/// A client on one loop; the body runs on that loop.
func withClient(
  _ configuration: HTTPClientConfiguration = .init(), clock: OutboundClock = .system, loops: Int = 1,
  _ body: @escaping @Sendable (HTTPClient) async throws -> Void
) async throws {
  let group = try EventLoopGroup(count: loops, name: "client")
  defer { group.shutDown() }
  var quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  quiet.logLevel = .trace
  let client = try HTTPClient(loops: group.loops, configuration: configuration, clock: clock, logger: quiet)
  let result = await Task(executorPreference: group.loops[0]) { () async -> Result<Void, any Error> in
    do { return .success(try await body(client)) } catch { return .failure(error) }
  }.value
  await client.shutDown()
  try result.get()
}

/// Sends and expects a response.
func response(to request: HTTPRequest, from client: HTTPClient) async -> HTTPResponse? {
  do { return try await client.send(request) } catch {
    Issue.record("no response: \(error)")
    return nil
  }
}

/// Sends and expects to fail.
func failure(of request: HTTPRequest, with client: HTTPClient) async -> OutboundError? {
  do {
    let response = try await client.send(request)
    Issue.record("expected a failure, got status \(response.status)")
    return nil
  } catch {
    return error
  }
}

/// A clock that tests move by hand, whose sleeps end at once and are noted.
final class ManualClock: Sendable {
  private struct State {
    var now = MonotonicInstant.now()
    var sleeps: [Duration] = []
  }

  private let state = Mutex(State())
  private let jitter: Double
  private let unixSeconds: Int64

  init(jitter: Double = 0.5, unixSeconds: Int64 = 784_111_777) {
    self.jitter = jitter
    self.unixSeconds = unixSeconds
  }

  var sleeps: [Duration] { state.withLock { $0.sleeps } }

  func advance(by duration: Duration) { state.withLock { $0.now = $0.now.advanced(by: duration) } }

  var clock: OutboundClock {
    OutboundClock(
      now: { self.state.withLock { $0.now } }, unixSeconds: { self.unixSeconds }, random: { self.jitter },
      sleep: { duration, _ in
        try Task.checkCancellation()
        self.state.withLock {
          $0.sleeps.append(duration)
          $0.now = $0.now.advanced(by: duration)
        }
      })
  }
}
