import EventLoop
import Glibc
import TestSupport
import Testing

/// A well-behaved client on a connection and a thread of its own, which calls `Echo` every 20 ms for as long as an attack lasts.
///
/// It also watches the memory of the process, and how late its own clock ticks: a machine that has no time for anybody slows down the
/// server as it slows down the probe, and only what exceeds that is the attack's doing.
final class Probe: Sendable {
  /// What the client has lived through.
  struct Report: Sendable {
    var latencies: [Duration] = []
    var failures: [String] = []
    var worstLateness = Duration.zero
    var peakMemory = 0

    /// The latency that so many of a hundred calls did not exceed.
    func percentile(_ percent: Int) -> Duration {
      latencies.isEmpty ? .zero : latencies.sorted()[min(latencies.count * percent / 100, latencies.count - 1)]
    }
  }

  /// Time between two calls.
  static let interval = Duration.milliseconds(20)
  /// Resident memory before the attack.
  let memoryBefore: Int
  private let group: EventLoopGroup
  private let state: State

  // SAFETY: used on the probe's loop only.
  private final class State: @unchecked Sendable {
    let peer: HTTP2Peer
    var report = Report()
    var isStopped = false
    var task: Task<Void, Never>?
    init(_ peer: HTTP2Peer) { self.peer = peer }
  }

  /// Connects, and makes the first call before it returns.
  init(to address: SocketAddress) async throws {
    let group = try EventLoopGroup(count: 1, name: "probe")
    let loop = group.loops[0]
    self.group = group
    state = try await loop.perform {
      let peer = try await HTTP2Peer.open(to: address, on: loop)
      try await peer.probe(1)
      return State(peer)
    }
    memoryBefore = ProcessMemory.resident
    let state = state
    _ = loop.execute { state.task = loop.spawn { await Self.run(state, on: loop) } }
  }

  private static func run(_ state: State, on loop: EventLoop) async {
    var next = MonotonicInstant.now()
    var stream: UInt32 = 3
    var calls: [Task<Void, Never>] = []
    while !state.isStopped {
      next = next.advanced(by: interval)
      try? await loop.sleep(until: next)
      state.report.worstLateness = max(state.report.worstLateness, MonotonicInstant.now().duration(since: next))
      state.report.peakMemory = max(state.report.peakMemory, ProcessMemory.resident)
      let call = stream
      let sent = MonotonicInstant.now()
      calls.append(
        loop.spawn {
          do {
            try await state.peer.probe(call)
            state.report.latencies.append(MonotonicInstant.now().duration(since: sent))
          } catch { state.report.failures.append("\(error)") }
        })
      stream += 2
      // After a pause of the whole machine the calls that were missed are not made up for.
      next = max(next, MonotonicInstant.now())
    }
    for call in calls { await call.value }
  }

  /// Ends the calls, and waits for the answers to those under way.
  func finish() async throws -> Report {
    let state = state
    let report = try await group.loops[0].perform {
      state.isStopped = true
      await state.task?.value
      state.peer.close()
      return state.report
    }
    group.shutDown()
    return report
  }
}

extension Probe.Report {
  /// Every call was answered; one in twenty may take 250 ms, none 2 s.
  func check(_ location: SourceLocation = #_sourceLocation) {
    #expect(failures.isEmpty, sourceLocation: location)
    #expect(!latencies.isEmpty, sourceLocation: location)
    let slack = worstLateness * 4
    #expect(percentile(95) <= .milliseconds(250) * Scale.time + slack, sourceLocation: location)
    #expect(percentile(100) <= .seconds(2) * Scale.time + slack, sourceLocation: location)
  }
}
