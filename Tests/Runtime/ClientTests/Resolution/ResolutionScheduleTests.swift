import EventLoop
import Testing

@testable import RPCClient

@Suite("When a name is looked up")
struct ResolutionScheduleTests {
  private func at(_ seconds: Double) -> MonotonicInstant { .init(nanoseconds: UInt64((1_000 + seconds) * 1e9)) }

  private func schedule() -> ResolutionSchedule {
    var backoff = ConnectionBackoff()
    backoff.jitter = 0
    return ResolutionSchedule(minimumInterval: .seconds(30), backoff: backoff)
  }

  @Test("There is one query at a time, and it serves everybody who wished for it until its end")
  func one() {
    var schedule = schedule()
    #expect(schedule.wanted(since: at(0), now: at(0)) == .query)
    #expect(schedule.wanted(since: at(1), now: at(1)) == .served)
    schedule.succeeded(now: at(2))
    // It began after the wish arose.
    #expect(schedule.wanted(since: at(-1), now: at(40)) == .served)
  }

  @Test("After an answer the next query waits for the interval to pass, to the nanosecond")
  func interval() {
    var schedule = schedule()
    #expect(schedule.wanted(since: at(0), now: at(0)) == .query)
    schedule.succeeded(now: at(2))
    #expect(schedule.wanted(since: at(3), now: at(3)) == .wait(until: at(32)))
    let early = MonotonicInstant(nanoseconds: at(32).nanoseconds - 1)
    #expect(schedule.wanted(since: at(3), now: early) == .wait(until: at(32)))
    #expect(schedule.wanted(since: at(3), now: at(32)) == .query)
    // Others who wished in the meantime are served by it, also when they look later.
    #expect(schedule.wanted(since: at(4), now: at(32)) == .served)
    schedule.succeeded(now: at(33))
    #expect(schedule.wanted(since: at(4), now: at(34)) == .served)
    #expect(schedule.wanted(since: at(34), now: at(34)) == .wait(until: at(63)))
  }

  @Test("Failures are followed by growing waits, which an answer forgets")
  func failures() {
    var schedule = schedule()
    #expect(schedule.wanted(since: at(0), now: at(0)) == .query)
    schedule.failed(now: at(0))
    #expect(schedule.wanted(since: at(0.5), now: at(0.5)) == .wait(until: at(1)))
    #expect(schedule.wanted(since: at(0.5), now: at(1)) == .query)
    schedule.failed(now: at(1))
    #expect(schedule.wanted(since: at(2), now: at(2)) == .wait(until: at(2.6)))
    #expect(schedule.wanted(since: at(2), now: at(2.6)) == .query)
    schedule.succeeded(now: at(3))
    #expect(schedule.wanted(since: at(40), now: at(40)) == .query)
    schedule.failed(now: at(40))
    #expect(schedule.wanted(since: at(40.5), now: at(40.5)) == .wait(until: at(41)))
  }
}
