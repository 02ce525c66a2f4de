import EventLoop
import Glibc
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import ServiceKit

@Suite("Facts about the process")
struct ProcessFactsTests {
  @Test(
    "A binary is named by its build id; a file that is none has no name",
    arguments: [
      ("/proc/self/exe", true), ("/bin/sh", true), ("/etc/passwd", false), ("/nonexistent", false), ("/dev/null", false),
    ])
  func buildIdentifier(_ path: String, _ hasName: Bool) {
    let name = BuildIdentifier.read(path)
    #expect((name != nil) == hasName)
    if let name { #expect(name.utf8.count >= 16 && name.allSatisfy(\.isHexDigit)) }
  }

  @Test("Descriptors are counted as they open and close")
  func descriptors() throws {
    // Other tests of the process open and close their own meanwhile: so many that those do not matter.
    let before = ProcessStatistics.openDescriptors
    let opened = (0..<200).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
    let during = ProcessStatistics.openDescriptors
    for descriptor in opened { close(descriptor) }
    #expect(during - before > 100 && during <= ProcessStatistics.descriptorLimit)
  }

  @Test("A late loop is seen as late, and looked at on itself")
  func lag() async throws {
    let group = try EventLoopGroup(count: 1, name: "lagging")
    let registry = PrometheusRegistry()
    let looked = Signal()
    let looks = Atomic(0)
    let lag = LoopLag(group, registry) { loop in
      #expect(loop.isCurrent)
      let number = looks.wrappingAdd(1, ordering: .relaxed).newValue
      if number == 1 {
        // The loop is held for longer than the timer's period.
        let end = MonotonicInstant.now().advanced(by: .milliseconds(400))
        while MonotonicInstant.now() < end {}
      }
      if number == 2 { looked.fire() }
    }
    try await looked.wait()
    lag.stop()
    try await DemoProcess.pool.run { group.shutDown() }
    let histogram = registry.histogram("parley_loop_lag_seconds", labels: [("loop", "lagging-0")]).snapshot
    #expect(histogram.counts.suffix(7).reduce(0, +) >= 1, "150 ms late at least: \(histogram)")
  }
}
