import ConnectConformance
import Dispatch
import EventLoop
import JudgeAPI
import MessagesCore

/// The client that the judge of Connect examines: makes the calls that come over standard input, many at once, until it ends.
struct ConformanceClient {
  /// Whether unary calls are made as such, not as streams: the way of most programs.
  let usesUnaryCalls: Bool
  /// Calls at once; the judge waits for answers beyond them.
  private static let maximumCalls = 64

  func run() throws {
    let pipe = JudgePipe()
    let group = try EventLoopGroup(name: "conformance")
    defer { group.shutDown() }
    let running = DispatchGroup()
    let room = DispatchSemaphore(value: Self.maximumCalls)
    let broken = Broken()
    let contexts = SharedContexts()
    // Reading blocks, so it stays on the main thread, which no loop needs.
    while let request = try pipe.read(Judged.ClientCompatRequest.self) {
      try broken.check()
      room.wait()
      running.enter()
      let usesUnaryCalls = usesUnaryCalls
      group.takeLeastBusy().spawn {
        let result = await RequestedCall(request, usesUnaryCalls: usesUnaryCalls, contexts).result(on: group)
        do {
          try pipe.write(Judged.ClientCompatResponse(testName: request.testName, result: result))
        } catch {
          broken.note(error)
        }
        room.signal()
        running.leave()
      }
    }
    running.wait()
    try broken.check()
  }
}
