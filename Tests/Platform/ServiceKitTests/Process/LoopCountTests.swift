import Testing

@testable import ServiceKit

@Suite("How many loops a process runs")
struct LoopCountTests {
  @Test("One per core, unless the quota or the database's connections feed fewer; never none (PF-05)")
  func least() {
    #expect(LoopCount(cores: 8) == LoopCount(cores: 8, quota: 8, budget: 8))
    #expect(LoopCount(cores: 64, quota: 2).count == 2)
    #expect(LoopCount(cores: 64, quota: 1.5).count == 2 && LoopCount(cores: 64, quota: 0.1).count == 1)
    #expect(LoopCount(cores: 64, quota: 4, budget: 17).count == 4 && LoopCount(cores: 64, quota: 40, budget: 17).count == 17)
    #expect(LoopCount(cores: 2, budget: 0).count == 1 && LoopCount(cores: 0).count == 1)
    #expect(LoopCount(cores: 8).reason == nil && LoopCount(cores: 8, quota: 9, budget: 9).reason == nil)
    #expect(LoopCount(cores: 8, quota: 2).reason == "the control group's quota of 2.0 cores")
    #expect(LoopCount(cores: 8, quota: 4, budget: 3).reason == "the connections that the database has for this copy")
  }

  @Test("The quota is the least of a group's and of those around it, in both versions of control groups (PF-05)")
  func quota() {
    func least(_ groups: String, _ files: [String: String]) -> Double? { CPUQuota.least(groups: groups) { files[$0] } }
    #expect(least("0::/a/b\n", ["/a/b/cpu.max": "250000 100000\n"]) == 2.5)
    #expect(
      least("0::/a/b\n", ["/a/b/cpu.max": "max 100000\n", "/a/cpu.max": "150000 50000\n", "/cpu.max": "max 100000\n"]) == 3)
    #expect(least("0::/\n", ["/cpu.max": "100000 100000\n"]) == 1)
    #expect(least("0::/\n", [:]) == nil && least("", ["/cpu.max": "1 1"]) == nil && least("nonsense", [:]) == nil)
    #expect(least("0::/a\n", ["/a/cpu.max": "0 0"]) == nil && least("0::/a\n", ["/a/cpu.max": "x y"]) == nil)
    let classic = "11:memory:/m\n4:cpu,cpuacct:/docker/x\n0::/\n"
    #expect(least(classic, ["/cpu/docker/x/cpu.cfs_quota_us": "400000\n", "/cpu/docker/x/cpu.cfs_period_us": "100000\n"]) == 4)
    #expect(least(classic, ["/cpu/docker/x/cpu.cfs_quota_us": "-1\n", "/cpu/docker/x/cpu.cfs_period_us": "100000\n"]) == nil)
  }
}
