import DemoService
import EventLoop
import JSON
import Outbound
import RPC
import TestAPI
import Testing

@testable import ServiceKit

@Suite("Admin page")
struct AdminTests {
  private struct Answer: Sendable {
    let status: Int
    let type: String
    let text: String

    func json() throws -> JSONValue { try JSONParser.parse(text) }
  }

  /// A service with an admin listener, and GETs to it.
  private func with(
    _ environment: [String: String] = [:],
    _ body: @escaping @Sendable (EchoService.Client, @escaping @Sendable (String) async throws -> Answer) async throws -> Void
  ) async throws {
    let environment = environment.merging(["PARLEY_DEMO_ADMIN_LISTEN": "127.0.0.1:0"]) { own, _ in own }
    let instance = try await InstanceTests.start(environment)
    let address = try #require(instance.addresses.admin)
    let group = try EventLoopGroup(count: 1, name: "admin")
    let outbound = try HTTPClient(loops: group.loops)
    let result = await Result {
      try await InstanceTests.with(instance) { channel in
        try await body(EchoService.Client(channel)) { path in
          let response = try await outbound.send(.init(.get, "http://\(address)\(path)"))
          return Answer(
            status: response.status, type: response.headers["content-type"] ?? "",
            text: String(decoding: response.body, as: UTF8.self))
        }
      }
    }
    await outbound.shutDown()
    try await DemoProcess.pool.run { group.shutDown() }
    try result.get()
  }

  private static func rows(_ value: JSONValue) -> [JSONObject] {
    guard case .array(let rows) = value else { return [] }
    return rows.compactMap { if case .object(let row) = $0 { row } else { nil } }
  }

  @Test("The page shows every part as a table, and each part is JSON of its own")
  func parts() async throws {
    try await with { client, get in
      _ = try await client.echo(.init(text: "hi"))
      let page = try await get("/")
      #expect(page.status == 200 && page.type.hasPrefix("text/html") && page.text.contains("<h1>parley-demo</h1>"))
      for part in AdminReport.parts {
        #expect(page.text.contains("<a href=\"/debug/\(part)\">\(part)</a>"))
        let answer = try await get("/debug/\(part)")
        #expect(answer.status == 200 && answer.type == "application/json")
        guard case .array = try answer.json() else {
          Issue.record("\(part) is no array")
          continue
        }
      }
      guard case .object(let all) = try await get("/debug/all").json() else {
        Issue.record("no object")
        return
      }
      #expect(all.members.map(\.name) == AdminReport.parts)
      #expect(try await get("/debug/nothing").status == 404)
    }
  }

  @Test("Connections are listed with their age and streams, loops with their ticks, and all of it is counted")
  func connections() async throws {
    try await with { client, get in
      _ = try await client.echo(.init(text: "hi"))
      let rows = Self.rows(try await get("/debug/connections").json())
      #expect(rows.count == 1 && rows[0]["peer"]?.string?.hasPrefix("127.0.0.1:") == true)
      #expect(rows[0]["tls"] == .bool(false) && rows[0]["draining"] == .bool(false) && rows[0]["streams"]?.int64 == 0)
      let loops = Self.rows(try await get("/debug/loops").json())
      #expect(loops.map { $0["loop"]?.string } == ["demo-0"] && loops[0]["answers"] == .bool(true))
      #expect((loops[0]["ticks"]?.int64 ?? 0) > 0 && loops[0]["connections"]?.int64 == 1)
      let status = Self.rows(try await get("/debug/status").json())
      #expect(status.first?["serving"] == .bool(true) && (status.first?["resident_bytes"]?.int64 ?? 0) > 1_000_000)
    }
  }

  @Test("Limits and configuration are shown as they are in force, secrets are not")
  func configuration() async throws {
    try await with(["PARLEY_DEMO_API_KEY": "hunter2-hunter2", "PARLEY_DEMO_MAX_REQUEST_BYTES": "123456"]) { _, get in
      let limits = Self.rows(try await get("/debug/limits").json())
      #expect(limits.contains { $0["limit"]?.string == "server.maximumRequestBytes" && $0["value"]?.string == "123456" })
      #expect(limits.contains { $0["limit"]?.string == "http2.headerListBytes" && $0["value"]?.string == "16384" })
      let entries = Self.rows(try await get("/debug/configuration").json())
      let key = try #require(entries.first { $0["key"]?.string == "apiKey" })
      #expect(key["value"]?.string == "(hidden)")
      for path in ["/", "/debug/all", "/metrics"] { #expect(try await get(path).text.contains("hunter2") == false) }
      let build = Self.rows(try await get("/debug/build").json())
      #expect(build.contains { $0["part"]?.string == "nghttp2" })
    }
  }

  @Test("What peers choose cannot become markup")
  func markup() {
    #expect(AdminTable.escaped("<script>&\"'") == "&lt;script&gt;&amp;&quot;&#39;")
    let table = AdminTable(name: "t", columns: ["<c>"], rows: [["<v>"]], note: "<n>")
    #expect(!table.html.contains("<c>") && !table.html.contains("<v>") && !table.html.contains("<n>"))
  }

  @Test("What a loop's connections live through becomes counters within a look or two")
  func http2() async throws {
    try await with { client, get in
      for _ in 0..<3 { _ = try await client.echo(.init(text: "hi")) }
      let deadline = MonotonicInstant.now().advanced(by: .seconds(10))
      var text = ""
      while MonotonicInstant.now() < deadline, !text.contains("\nparley_http2_streams_total 3\n") {
        text = try await get("/metrics").text
      }
      #expect(text.contains("\nparley_http2_streams_total 3\n") && text.contains("\nparley_http2_glitches_total "))
    }
  }

  @Test("Metrics name the process, its loops and its server, in Prometheus' own words")
  func metrics() async throws {
    try await with { client, get in
      _ = try await client.echo(.init(text: "hi"))
      let text = try await get("/metrics").text
      func value(_ prefix: String) -> Double? {
        text.split(separator: "\n").first { $0.hasPrefix(prefix) }?.split(separator: " ").last.flatMap { Double($0) }
      }
      #expect((value("process_resident_memory_bytes ") ?? 0) > 1_000_000 && (value("process_open_fds ") ?? 0) > 3)
      #expect((value("process_start_time_seconds ") ?? 0) > 1_700_000_000 && (value("process_cpu_seconds_total ") ?? -1) >= 0)
      #expect((value("process_max_fds ") ?? 0) >= (value("process_open_fds ") ?? .infinity))
      #expect(value("parley_build_info{") == 1 && text.contains(#"program="parley-demo""#))
      #expect((value(#"parley_loop_ticks_total{loop="demo-0"}"#) ?? 0) > 0)
      #expect(value("parley_server_connections ") == 1)
      #expect(
        text.contains("# TYPE parley_loop_lag_seconds histogram") && text.contains("# TYPE process_cpu_seconds_total counter"))
      #expect(text.contains(#"grpc_server_call_started_total{grpc_method="parley.testing.v1.EchoService/Echo"} 1"#))
    }
  }
}
