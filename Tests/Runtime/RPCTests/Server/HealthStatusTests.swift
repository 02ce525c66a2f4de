import RPCServer
import Testing

@Suite("Health")
struct HealthStatusTests {
  @Test("A process serves once it has started, while all conditions hold, and never again once it drains")
  func transitions() {
    let health = HealthStatus(services: ["a.B"])
    #expect(!health.isServing && health.reasons == ["started"])
    health.started()
    #expect(health.isServing && health.reasons.isEmpty)
    health.set("database", holds: false)
    health.set("keys", holds: false)
    #expect(!health.isServing && health.reasons == ["database", "keys"])
    health.set("database", holds: true)
    #expect(!health.isServing)
    health.set("keys", holds: true)
    #expect(health.isServing)
    health.startDraining()
    health.set("database", holds: true)
    #expect(!health.isServing && health.isDraining && health.reasons == ["draining"])
  }

  @Test("A watch tells the state at once, then each change, and ends when the process is done")
  func watch() async {
    let health = HealthStatus(services: [])
    health.started()
    var changes = health.changes().makeAsyncIterator()
    #expect(await changes.next() == true)
    health.set("database", holds: false)
    #expect(await changes.next() == false)
    health.set("keys", holds: false)
    health.set("keys", holds: true)
    health.set("database", holds: true)
    // What did not change the state was not told: the next news is that it serves again.
    #expect(await changes.next() == true)
    health.startDraining()
    health.finish()
    #expect(await changes.next() == false)
    #expect(await changes.next() == nil)
  }

  @Test("Whoever reads slowly is told the latest state only")
  func slowReader() async {
    let health = HealthStatus(services: [])
    var changes = health.changes().makeAsyncIterator()
    health.started()
    health.set("database", holds: false)
    health.set("database", holds: true)
    #expect(await changes.next() == true)
  }
}
