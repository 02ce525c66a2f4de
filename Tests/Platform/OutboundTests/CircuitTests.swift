import EventLoop
import Outbound
import Synchronization
import Testing

extension OutboundTests {
  @Suite("Circuit breaker")
  struct Circuit {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    private func after(_ seconds: Double) -> MonotonicInstant { start.advanced(by: .milliseconds(Int(seconds * 1_000))) }

    @Test("It opens at the fifth failure in a row, and a success in between starts the count again")
    func opens() {
      var circuit = CircuitBreaker(.init())
      for _ in 0..<4 { #expect(circuit.record(.failure, now: start) == false) }
      circuit.record(.success, now: start)
      for _ in 0..<4 { #expect(circuit.record(.failure, now: start) == false) }
      #expect(circuit.admit(now: start) == nil)
      #expect(circuit.record(.failure, now: start) == true)
      #expect(circuit.admit(now: after(1)) == .seconds(4))
    }

    @Test("Half-open lets one probe pass; its failure doubles the pause up to a minute, its success closes the circuit")
    func probes() {
      var circuit = CircuitBreaker(.init())
      for _ in 0..<5 { circuit.record(.failure, now: start) }
      #expect(circuit.admit(now: after(4.999)) == .milliseconds(1))
      var now = 5.0
      for pause in [10.0, 20, 40, 60, 60] {
        #expect(circuit.admit(now: after(now)) == nil)
        #expect(circuit.admit(now: after(now)) != nil)
        #expect(circuit.record(.failure, now: after(now)) == true)
        #expect(circuit.state == .open(until: after(now + pause)))
        now += pause
      }
      #expect(circuit.admit(now: after(now)) == nil)
      circuit.record(.success, now: after(now))
      #expect(circuit.state == .closed)
    }

    @Test("A cancelled probe gives the next request the chance")
    func cancelledProbe() {
      var circuit = CircuitBreaker(.init())
      for _ in 0..<5 { circuit.record(.failure, now: start) }
      #expect(circuit.admit(now: after(5)) == nil)
      circuit.record(.unknown, now: after(5))
      #expect(circuit.admit(now: after(5)) == nil)
    }

    @Test("A late failure of before does not prolong an open circuit")
    func lateFailure() {
      var circuit = CircuitBreaker(.init())
      for _ in 0..<5 { circuit.record(.failure, now: start) }
      circuit.record(.failure, now: after(4))
      #expect(circuit.state == .open(until: after(5)))
    }

    @Test("A failing host is left alone, probed after the pause, and used again once it is well")
    func throughTheClient() async throws {
      let manual = ManualClock()
      let isWell = Flag()
      try await withClient(
        clock: manual.clock, answering: { _ in isWell.value ? .respond(200) : .respond(500) },
        { client, stub in
          for _ in 0..<5 { #expect(await response(to: .init(.get, stub.url), from: client)?.status == 500) }
          let refusal = await failure(of: .init(.get, stub.url), with: client)
          #expect(refusal?.code == .circuitOpen && refusal?.retryAfter == .seconds(5))
          #expect(stub.requestCount == 5)
          manual.advance(by: .seconds(5))
          #expect(await response(to: .init(.get, stub.url), from: client)?.status == 500)
          #expect(await failure(of: .init(.get, stub.url), with: client)?.retryAfter == .seconds(10))
          isWell.set()
          manual.advance(by: .seconds(10))
          for _ in 0..<3 { #expect(await response(to: .init(.get, stub.url), from: client)?.status == 200) }
          #expect(client.statistics.circuitsOpened == 2 && client.statistics.refusedByCircuit == 2)
        })
    }

    @Test("One host's circuit is not another's, and callers in a hurry open none")
    func apart() async throws {
      let other = try StubServer { _ in .respond(200) }
      defer { other.stop() }
      try await withClient(
        answering: { $0.line.contains("/hang") ? .hang : .respond(503) },
        { client, stub in
          var hurried = HTTPRequest(.get, stub.url + "/hang")
          hurried.timeout = .milliseconds(20)
          for _ in 0..<6 { #expect(await failure(of: hurried, with: client)?.code == .timeout) }
          for _ in 0..<5 { #expect(await response(to: .init(.get, stub.url), from: client)?.status == 503) }
          #expect(await failure(of: .init(.get, stub.url), with: client)?.code == .circuitOpen)
          #expect(await response(to: .init(.get, other.url), from: client)?.status == 200)
        })
    }
  }
}

private final class Flag: Sendable {
  private let state = Atomic(false)
  var value: Bool { state.load(ordering: .relaxed) }
  func set() { state.store(true, ordering: .relaxed) }
}
