import EventLoop
import OnboardingStore
import TestSupport
import Testing

@Suite("Signals of changes")
struct ChangeSignalTests {
  @Test("A wait that ended without its signal does not end the next ones at once (OF-01)")
  func survivesTimeouts() async throws {
    let signal = ChangeSignal()
    let start = MonotonicInstant.now()
    for _ in 1...50 { #expect(try await signal.wait(atMost: .milliseconds(10)) == false) }
    #expect(MonotonicInstant.now().duration(since: start) >= .milliseconds(500), "each waits for its whole time")
    signal.raise()
    #expect(try await signal.wait(atMost: .seconds(60)))
  }

  @Test("A wait that was cancelled does not end the next one, which hears what came meanwhile (OF-01)")
  func survivesCancellation() async throws {
    let signal = ChangeSignal()
    for _ in 1...50 {
      let waiting = Task { try await signal.wait(atMost: .seconds(60)) }
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
    }
    #expect(try await signal.wait(atMost: .milliseconds(1)) == false)
    let waiting = Task { try await signal.wait(atMost: .seconds(60)) }
    signal.raise()
    #expect(try await waiting.value)
  }

  @Test("A signal is kept until somebody waits, and several are one")
  func kept() async throws {
    let signal = ChangeSignal()
    for _ in 1...3 { signal.raise() }
    #expect(try await signal.wait(atMost: .seconds(60)))
    #expect(try await signal.wait(atMost: .milliseconds(1)) == false)
  }

  @Test("No signal is lost between a wait whose time is up and the next one (OF-01)")
  func races() async throws {
    let (signal, heard) = (ChangeSignal(), ChangeSignal())
    let rounds = 500
    let raising = Task {
      for _ in 0..<rounds {
        signal.raise()
        guard try await heard.wait(atMost: .seconds(60)) else { return false }
      }
      return true
    }
    var count = 0
    while count < rounds {
      // As short as a wait can be, so that many end in the moment in which the signal comes.
      guard try await signal.wait(atMost: .microseconds(20)) else { continue }
      count += 1
      heard.raise()
    }
    #expect(try await raising.value)
  }
}
