import EventLoop
import Glibc
import RPCServer
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import ServiceKit

@Suite("Loops that do not go on")
struct StallTests {
  @Test("A stall is told once when it is found and once when it is over, with the loop and how long")
  func told() async throws {
    let loops = try EventLoopGroup(count: 2, name: "stall")
    let (found, over) = (Tally("stalls found"), Tally("stalls over"))
    let stalls = Mutex<[LoopStall]>([])
    let liveness = LoopLiveness(
      loops, threshold: .milliseconds(100),
      observer: .init(
        began: { stall in
          stalls.withLock { $0.append(stall) }
          found.add()
        },
        ended: { stall in
          stalls.withLock { $0.append(stall) }
          over.add()
        }))
    let gate = Gate()
    loops.loops[1].execute { gate.wait() }
    try await found.reaches(1)
    #expect(liveness.stalled(for: .milliseconds(90)) == ["stall-1"])
    gate.open()
    try await over.reaches(1)
    liveness.stop()
    let (began, ended) = stalls.withLock { ($0[0], $0[1]) }
    #expect(began.loop === loops.loops[1] && began.index == 1 && began.pulse.phase == .messages)
    #expect(began.duration >= .milliseconds(100) && ended.duration >= began.duration && ended.pulse == began.pulse)
    #expect(found.value == 1 && over.value == 1)
    try await DemoProcess.pool.run { loops.shutDown() }
  }

  @Test("A loop that is busy but turns is none", arguments: [Duration.milliseconds(100)])
  func busy(_ threshold: Duration) async throws {
    let loops = try EventLoopGroup(count: 1, name: "busy")
    let found = Tally("stalls")
    let liveness = LoopLiveness(loops, threshold: .seconds(5), observer: .init(began: { _ in found.add() }))
    let turns = Tally("turns")
    // Two thousand turns in a row, none of which waits.
    try await loops.loops[0].perform {
      for _ in 0..<2_000 {
        await Task.yield()
        turns.add()
      }
    }
    #expect(turns.value == 2_000 && found.value == 0 && liveness.stalled(for: .seconds(5)).isEmpty)
    liveness.stop()
    try await DemoProcess.pool.run { loops.shutDown() }
  }

  private static func stall(_ loop: EventLoop, _ duration: Duration) -> LoopStall {
    LoopStall(loop: loop, index: 0, pulse: loop.pulse, duration: duration)
  }

  @Test("The log names the handler; of many stalls in a minute ten are told, and the counter has them all")
  func log() throws {
    let loop = try EventLoop(name: "quiet")
    let (lines, registry) = (CapturedLog(), PrometheusRegistry())
    let trace = HandlerTrace(path: "/a.B/C", certainty: .resumed)
    let observer = StallLog(lines.logger, registry) { _ in trace }.observer
    for _ in 0..<25 {
      observer.began(Self.stall(loop, .milliseconds(500)))
      observer.ended(Self.stall(loop, .milliseconds(1_250)))
    }
    #expect(lines.all.count == 20)
    #expect(
      lines.all.first
        == "warning a loop does not go on: its handler blocks for_ms=500 handler=/a.B/C, resumed loop=quiet loop_index=0 phase=waiting"
    )
    #expect(
      lines.all.last == "warning the loop goes on handler=/a.B/C, resumed loop=quiet loop_index=0 phase=waiting took_ms=1250")
    #expect(registry.counter("parley_loop_stalls_total", labels: [("handler", "/a.B/C")]).total == 25)
    let metrics = String(decoding: registry.exposition(), as: UTF8.self)
    #expect(metrics.contains("parley_loop_stall_duration_seconds_count 25"))
  }

  @Test("What is not certain is no label of a metric")
  func uncertain() throws {
    let loop = try EventLoop(name: "quiet")
    let (lines, registry) = (CapturedLog(), PrometheusRegistry())
    StallLog(lines.logger, registry) { _ in HandlerTrace(path: "/a.B/C", certainty: .last) }.observer
      .began(Self.stall(loop, .seconds(1)))
    StallLog(lines.logger, registry) { _ in nil }.observer.began(Self.stall(loop, .seconds(1)))
    #expect(registry.counter("parley_loop_stalls_total", labels: [("handler", "unknown")]).total == 2)
    #expect(lines.all[0].contains("handler=a task or callback (the last handler to begin was /a.B/C)"))
    #expect(lines.all[1].contains("handler=a task or callback loop=quiet"))
  }
}
