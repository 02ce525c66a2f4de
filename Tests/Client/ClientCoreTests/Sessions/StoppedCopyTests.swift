import Dispatch
import EventLoop
import Foundation
import ParleyAPI
import RPC
import RPCServer
import Synchronization
import TestSupport
import Testing

@testable import ClientCore

/// Two copies of the service, of which one stands still: its kernel takes connections and bytes, and nobody answers.
@Suite("A copy that stands still")
struct StoppedCopyTests {
  /// A server whose loop can be stopped and let go on.
  private final class Copy: Sendable {
    let group: EventLoopGroup
    let server: RPCServer
    let port: UInt16
    private let stopped = Mutex(0)
    private let going = DispatchSemaphore(value: 0)

    init(of auth: ScriptedAuth) throws {
      group = try EventLoopGroup(count: 1, name: "copy")
      server = RPCServer(on: group, services: [AuthService.routes(auth)])
      port = try server.listen(on: SocketAddress("127.0.0.1:0")).port ?? 0
    }

    /// Returns once its loop does nothing any more.
    func stop() async throws {
      stopped.withLock { $0 += 1 }
      let isStill = Tally("loops that stand still")
      group.loops[0].execute { [going] in
        isStill.add()
        going.wait()
      }
      try await isStill.reaches(1)
    }

    func end() async {
      let count = stopped.withLock { stopped in
        defer { stopped = 0 }
        return stopped
      }
      for _ in 0..<count { going.signal() }
      await server.drain(within: .seconds(5))
      group.shutDown()
    }
  }

  @Test(
    "Sign-ins and refreshes through the edge are answered while one copy stands still, long before their deadline (BB-07)",
    .enabled(if: Edge.isInstalled, "nghttpx is not installed"), .timeLimit(.minutes(3)))
  func throughTheEdge() async throws {
    let clock = SteppedClock()
    let auth = ScriptedAuth(clock: clock)
    let copies = try [Copy(of: auth), Copy(of: auth)]
    let edge = try LocalEdge(before: copies.map(\.port))
    let result = await Result.of {
      let url = try #require(URL(string: "http://127.0.0.1:\(edge.port)"))
      let keeper = SessionKeeper(
        channel: ConnectJSONChannel(baseURL: url), store: MemoryTokenStore(),
        options: .init(jitter: .zero, timeout: .seconds(25), hedge: .milliseconds(300), clock: clock))
      // Both copies have a connection of the edge's by then.
      for _ in 0..<4 { _ = try await keeper.beginSignIn(with: .google) }
      var nonces: [String] = []
      for _ in 0..<4 { nonces.append(try await keeper.beginSignIn(with: .google).nonce) }
      try await copies[0].stop()
      for nonce in nonces {
        _ = try await keeper.signIn(google: "ana", nonce: nonce)
        let token = try await keeper.accessToken()
        let next = try await keeper.accessToken(insteadOf: token)
        #expect(next != token)
      }
      #expect(auth.state.withLock { $0.sessions.count } == nonces.count, "each sign-in happened once")
    }
    for copy in copies { await copy.end() }
    try edge.stop()
    try result.get()
  }

  // MARK: The rule

  /// How a call ends.
  private enum End: Sendable {
    case value(Int)
    case failure(StatusCode)
    /// With its caller's patience.
    case never
    /// As it says, once the second call has begun.
    indirect case later(End)
  }

  /// Calls that end as the test says, in the order in which they begin.
  private final class Calls: Sendable {
    let begun = Tally("calls")
    private let ends: Mutex<[End]>

    /// Those that the test does not name never end.
    init(_ ends: End...) { self.ends = Mutex(ends.reversed()) }

    func next() async throws(RPCError) -> Int {
      let end = ends.withLock { $0.popLast() } ?? .never
      begun.add()
      return try await result(end)
    }

    private func result(_ end: End) async throws(RPCError) -> Int {
      switch end {
      case .value(let value): return value
      case .failure(let code): throw RPCError(code, "\(code)")
      case .never:
        try? await Signal().wait(atMost: .seconds(600))
        throw RPCError(.cancelled, "given up")
      case .later(let end):
        try? await begun.reaches(2)
        return try await result(end)
      }
    }
  }

  private func value(_ calls: Calls, isIdempotent: Bool = true) async throws(RPCError) -> Int {
    try await HedgedCall(delay: .milliseconds(20), isIdempotent: isIdempotent).value { () async throws(RPCError) in
      try await calls.next()
    }
  }

  private func code(_ calls: Calls, isIdempotent: Bool = true) async -> StatusCode? {
    await refusal { _ = try await value(calls, isIdempotent: isIdempotent) }?.code
  }

  @Test("The second call's answer counts while the first has none (BB-07)")
  func second() async throws {
    let calls = Calls(.never, .value(2))
    let answer = try await value(calls)
    #expect(answer == 2 && calls.begun.value >= 2)
  }

  @Test("A call that fails before another one is made fails, and none follows it")
  func early() async throws {
    let calls = Calls(.failure(.unavailable))
    #expect(await code(calls) == .unavailable)
    #expect(calls.begun.value == 1)
  }

  @Test("A refusal of the second call is final where all calls are answered alike, and else waits for the first (BB-07)")
  func refused() async throws {
    #expect(await code(Calls(.never, .failure(.unauthenticated))) == .unauthenticated)
    let used = Calls(.later(.value(1)), .failure(.unauthenticated))
    let answer = try await value(used, isIdempotent: false)
    #expect(answer == 1)
  }

  @Test("When all calls fail, what a service answered is told, and not that nobody did")
  func all() async throws {
    let calls = Calls(.later(.failure(.unavailable)), .failure(.permissionDenied), .failure(.deadlineExceeded))
    #expect(await code(calls, isIdempotent: false) == .permissionDenied)
  }

  @Test("A caller that gives up ends all calls")
  func cancelled() async throws {
    let calls = Calls()
    let task = Task { await code(calls) }
    try await calls.begun.reaches(2)
    task.cancel()
    #expect(await task.value == .cancelled)
  }
}
