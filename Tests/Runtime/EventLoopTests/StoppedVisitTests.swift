import EventLoop
import Synchronization
import TestSupport
import Testing

/// RF-08. Each wait is a task of its own: one that never ends fails its test, and does not hold it.
@Suite("Visiting a loop that stops")
struct StoppedVisitTests {
  /// Says by itself that a loop has ended.
  private struct Refusal: StoppedLoopReporting {
    let code: EventLoopError.Code
    init(stopped error: EventLoopError) { code = error.code }
  }

  /// Cannot say it.
  private struct Other: Error {}

  private static func stopped() throws -> EventLoop {
    let group = try EventLoopGroup(count: 1, name: "gone")
    group.shutDown()
    return group.loops[0]
  }

  /// What a task comes to within the patience of a test.
  private static func outcome<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Result<Value, any Error> {
    let result = Mutex<Result<Value, any Error>?>(nil)
    let done = Tally("visits that ended")
    Task {
      do {
        let value = try await body()
        result.withLock { $0 = .success(value) }
      } catch {
        result.withLock { $0 = .failure(error) }
      }
      done.add()
    }
    try await done.reaches(1)
    return try #require(result.withLock { $0 })
  }

  @Test("A body that throws is not run, and its visit fails: by itself, or with the error that its type makes of it")
  func throwing() async throws {
    let loop = try Self.stopped()
    let ran = Tally("bodies run")
    let plain = try await Self.outcome {
      try await loop.visit { () async throws -> Int in
        ran.add()
        return 1
      }
    }
    #expect((plain.failure as? EventLoopError)?.code == .stopped)
    let typed = try await Self.outcome {
      try await loop.visit { () async throws(Refusal) -> Int in
        ran.add()
        return 1
      }
    }
    #expect((typed.failure as? Refusal)?.code == .stopped)
    #expect(ran.value == 0)
  }

  @Test("A body that throws nothing, or nothing that could say so, runs where the caller is")
  func silent() async throws {
    let loop = try Self.stopped()
    #expect(try await Self.outcome { await loop.visit { EventLoop.current == nil } }.get())
    #expect(try await Self.outcome { try await loop.visit { () async throws(Other) in EventLoop.current == nil } }.get())
  }

  @Test("Who has an answer for it gets that one, and gets the body's while the loop runs")
  func answered() async throws {
    let loop = try Self.stopped()
    #expect(try await Self.outcome { await loop.visit(ifStopped: 1) { 2 } }.get() == 1)
    #expect(try await Self.outcome { try await loop.visit(ifStopped: 1) { () async throws in 2 } }.get() == 1)
    let group = try EventLoopGroup(count: 1)
    #expect(await group.loops[0].visit(ifStopped: 1) { 2 } == 2)
    group.shutDown()
  }

  @Test("Visits that race with the end of the loop all come to one")
  func race() async throws {
    for _ in 0..<20 {
      let group = try EventLoopGroup(count: 1, name: "ending")
      let loop = group.loops[0]
      let (begun, ended, strayed) = (Tally("visits begun"), Tally("visits ended"), Tally("bodies off the loop"))
      for number in 0..<100 {
        Task {
          begun.add()
          for _ in 0..<50 {
            let isRunning = await loop.visit(ifStopped: false) {
              if !loop.isCurrent { strayed.add() }
              return true
            }
            guard isRunning else { break }
            if number % 2 == 0 { await Task.yield() }
          }
          ended.add()
        }
      }
      try await begun.wait { $0 > 10 }
      group.shutDown()
      try await ended.reaches(100)
      #expect(strayed.value == 0)
    }
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
