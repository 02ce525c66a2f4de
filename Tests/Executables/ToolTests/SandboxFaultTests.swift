import EventLoop
import JSON
import Outbound
import Testing

@testable import parley_sandbox

@Suite("Sandbox: faults and counters") struct SandboxFaultTests {
  @Test("A status fault holds for as many requests as it was told, and the counters tell them apart")
  func status() async throws {
    try await RunningSandbox.run { running in
      #expect(try await running.post("/sandbox/faults", ["path": "/google/certs", "status": 503, "count": 2]).status == 200)
      var statuses: [Int] = []
      for path in ["/google/certs", "/oauth2/v3/certs", "/google/certs"] { statuses.append(try await running.get(path).status) }
      #expect(statuses == [503, 503, 200])
      #expect(running.sandbox.counters["/google/certs"] == .init(requests: 3, dropped: 0, statuses: [503: 2, 200: 1]))
      let shown = try parsed(try await running.get("/sandbox/counters").body)
      #expect(shown["paths"]?["/google/certs"]?["statuses"] == ["200": 1, "503": 2])
      _ = try await running.delete("/sandbox/counters")
      #expect(running.sandbox.counters["/google/certs"] == .init())
    }
  }

  @Test("A drop resets the stream, and the connection lives on")
  func drop() async throws {
    try await RunningSandbox.run { running in
      _ = try await running.post("/sandbox/faults", ["path": "/google/certs", "drop": true, "count": 1])
      await #expect(throws: OutboundError.self) { try await running.get("/google/certs") }
      #expect(try await running.get("/google/certs").status == 200)
      #expect(running.sandbox.counters["/google/certs"] == .init(requests: 2, dropped: 1, statuses: [200: 1]))
    }
  }

  @Test("A delay makes the real answer late")
  func delay() async throws {
    try await RunningSandbox.run { running in
      _ = try await running.post("/sandbox/faults", ["path": "/google/certs", "delayMs": 120])
      let started = MonotonicInstant.now()
      #expect(try await running.get("/google/certs").status == 200)
      #expect(MonotonicInstant.now().duration(since: started) >= .milliseconds(120))
    }
  }

  @Test("Deleting ends the faults of one path, or all")
  func delete() async throws {
    try await RunningSandbox.run { running in
      for path in ["/google/certs", "/google/token"] {
        _ = try await running.post("/sandbox/faults", ["path": .string(path), "status": 500])
      }
      _ = try await running.delete("/sandbox/faults?path=/google/certs")
      #expect(running.sandbox.faults.pending.map(\.path) == ["/google/token"])
      _ = try await running.delete("/sandbox/faults")
      #expect(running.sandbox.faults.pending.isEmpty)
    }
  }

  @Test(
    "A fault that names nothing, or does nothing, is refused",
    arguments: [
      ["path": "/nowhere", "status": 500], ["path": "/google/certs"], ["status": 500], ["path": "/google/certs", "status": 199],
    ] as [JSONObject])
  func refused(_ fault: JSONObject) async throws {
    try await RunningSandbox.run { running in
      let response = try await running.post("/sandbox/faults", fault)
      #expect(response.status == 400)
      #expect(running.sandbox.faults.pending.isEmpty)
    }
  }
}
