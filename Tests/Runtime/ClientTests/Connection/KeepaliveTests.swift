import EventLoop
import Testing

@testable import RPCClient

/// gRFC A8, as far as it needs no connection.
@Suite("Keepalive decisions")
struct KeepaliveTests {
  private func at(_ seconds: Double) -> MonotonicInstant { .init(nanoseconds: UInt64((1_000 + seconds) * 1e9)) }
  private func before(_ seconds: Double) -> MonotonicInstant { .init(nanoseconds: at(seconds).nanoseconds - 1) }

  private func keepalive(withoutCalls: Bool = false) -> Keepalive {
    var settings = ClientKeepalive(time: .seconds(10))
    settings.permitsWithoutCalls = withoutCalls
    return Keepalive(settings, time: .seconds(10))
  }

  @Test("A PING goes out when nothing came for the time, not a nanosecond earlier")
  func time() {
    var keepalive = keepalive()
    #expect(keepalive.look(now: at(0), heard: at(0), hasCalls: true) == .wait(until: at(10)))
    #expect(keepalive.look(now: before(10), heard: at(0), hasCalls: true) == .wait(until: at(10)))
    #expect(keepalive.look(now: at(10), heard: at(0), hasCalls: true) == .ping(until: at(20)))
  }

  @Test("Whatever comes puts the PING off")
  func activity() {
    var keepalive = keepalive()
    #expect(keepalive.look(now: at(10), heard: at(4), hasCalls: true) == .wait(until: at(14)))
    #expect(keepalive.look(now: at(14), heard: at(13), hasCalls: true) == .wait(until: at(23)))
  }

  @Test("A silence of the timeout after the PING ends the connection, not a nanosecond earlier")
  func timeout() {
    var keepalive = keepalive()
    #expect(keepalive.look(now: at(10), heard: at(0), hasCalls: true) == .ping(until: at(20)))
    #expect(keepalive.look(now: at(20), heard: at(0), hasCalls: true) == .wait(until: at(30)))
    #expect(keepalive.look(now: before(30), heard: at(0), hasCalls: true) == .wait(until: at(30)))
    #expect(keepalive.look(now: at(30), heard: at(0), hasCalls: true) == .close)
  }

  @Test("Any sign of life answers the PING, and the next one is due a whole time after it")
  func answer() {
    var keepalive = keepalive()
    #expect(keepalive.look(now: at(10), heard: at(0), hasCalls: true) == .ping(until: at(20)))
    // Heard in the tick in which the PING left: the clock of ticks is that coarse.
    #expect(keepalive.look(now: at(30), heard: at(10), hasCalls: true) == .ping(until: at(40)))
    #expect(keepalive.look(now: at(50), heard: at(45), hasCalls: true) == .wait(until: at(55)))
  }

  @Test("A PING that is answered is followed by the next one after the time, though the timeout is longer")
  func period() {
    var keepalive = keepalive()
    #expect(keepalive.look(now: at(10), heard: at(0), hasCalls: true) == .ping(until: at(20)))
    #expect(keepalive.look(now: at(20), heard: at(10.5), hasCalls: true) == .wait(until: at(20.5)))
    #expect(keepalive.look(now: at(20.5), heard: at(10.5), hasCalls: true) == .ping(until: at(30.5)))
  }

  @Test("Without calls nothing is asked until the next call, which asks at once")
  func sleep() {
    var keepalive = keepalive()
    #expect(keepalive.look(now: at(10), heard: at(0), hasCalls: false) == .sleep)
    #expect(keepalive.isAsleep)
    #expect(keepalive.look(now: at(500), heard: at(0), hasCalls: true) == .ping(until: at(510)))
    #expect(!keepalive.isAsleep)
  }

  @Test("A PING that is out is waited for also when its call has ended")
  func endOfCall() {
    var keepalive = keepalive()
    #expect(keepalive.look(now: at(10), heard: at(0), hasCalls: true) == .ping(until: at(20)))
    #expect(keepalive.look(now: at(30), heard: at(0), hasCalls: false) == .close)
  }

  @Test("Where it is permitted, a connection without calls is asked too")
  func permitted() {
    var keepalive = keepalive(withoutCalls: true)
    #expect(keepalive.look(now: at(10), heard: at(0), hasCalls: false) == .ping(until: at(20)))
  }

  @Test("The time is off by default and never below ten seconds")
  func minimum() {
    #expect(ClientKeepalive().effectiveTime == nil)
    #expect(ClientKeepalive(time: .milliseconds(9_999)).effectiveTime == .seconds(10))
    #expect(ClientKeepalive(time: .seconds(10)).effectiveTime == .seconds(10))
    #expect(ClientKeepalive(time: .milliseconds(10_001)).effectiveTime == .milliseconds(10_001))
    #expect(ClientKeepalive().timeout == .seconds(20) && !ClientKeepalive().permitsWithoutCalls)
  }
}
