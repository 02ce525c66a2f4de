import EventLoop
import RPCClient
import ScriptedOnboarding
import Synchronization
import TestSupport
import Testing

@testable import ClientCore

@Suite("Whether a service answers")
struct NetworkMonitorTests {
  @Test("Whoever listens hears the present and then the changes alone, and questions end with the listener")
  func changes() async throws {
    let answers = Mutex<[Bool]>([true, true, false, false, true])
    let asked = Mutex(0)
    let (isWaiting, isOver) = (Signal(), Signal())
    let monitor = NetworkMonitor(clock: SteppedClock()) {
      asked.withLock { $0 += 1 }
      if let next = answers.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return next }
      // Nobody answers any more.
      isWaiting.fire()
      try? await Signal().wait(atMost: .seconds(600))
      isOver.fire()
      return false
    }
    let heard = try await within(.seconds(20)) {
      var heard: [Bool] = []
      for await isReachable in monitor.changes() {
        heard.append(isReachable)
        guard heard.count < 3 else { break }
      }
      try await isWaiting.wait()
      return heard
    }
    #expect(heard == [true, false, true])
    try await isOver.wait(atMost: .seconds(20))
    #expect(asked.withLock { $0 } == 6)
  }

  @Test("A server's health is what is asked for")
  func health() async throws {
    try await OnboardingWorld.run { world in
      #expect(await NetworkMonitor(channel: world.channel).isReachable())
      #expect(await !NetworkMonitor(channel: world.channel, service: "nobody").isReachable())
    }
    let group = try EventLoopGroup(count: 1, name: "nobody", blockingThreads: 1)
    defer { group.shutDown() }
    let nobody = ClientChannel(to: .host("127.0.0.1", port: 1), on: group, configuration: .init())
    #expect(await !NetworkMonitor(channel: nobody, timeout: .seconds(5)).isReachable())
    await nobody.close()
  }
}
