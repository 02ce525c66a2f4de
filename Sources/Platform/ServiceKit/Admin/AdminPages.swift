internal import JSON
internal import RPCServer
internal import Telemetry

/// What the loopback listener answers: metrics for scrapers, probes for supervisors, and for operators a page (`/`) whose parts
/// are JSON under `/debug/…`, all of them together under `/debug/all`.
struct AdminPages: Sendable {
  let health: HealthStatus
  let liveness: LoopLiveness
  let registry: PrometheusRegistry
  let report: AdminReport
  /// A loop that has not turned for so long is stuck.
  static let stallLimit = Duration.seconds(5)

  /// The routes by path.
  var routes: [String: LoopbackListener.Route] {
    var routes: [String: LoopbackListener.Route] = [
      "/metrics": registry.route, "/livez": { _ in live }, "/readyz": { _ in ready }, "/healthz": { _ in ready },
      "/": { _ in await page }, "/debug/all": { _ in await json(AdminReport.parts) },
    ]
    for part in AdminReport.parts { routes["/debug/\(part)"] = { _ in await json([part]) } }
    return routes
  }

  /// Whether to restart the process: only if a loop is stuck. The database is no reason, since a restart would not bring it back.
  private var live: LoopbackListener.Response {
    let stalled = liveness.stalled(for: Self.stallLimit)
    return stalled.isEmpty ? .init("ok\n") : .init(status: 503, "stalled: \(stalled.joined(separator: ", "))\n")
  }

  /// Whether to send requests here.
  private var ready: LoopbackListener.Response {
    let reasons = health.reasons
    return reasons.isEmpty ? .init("ok\n") : .init(status: 503, "not serving: \(reasons.joined(separator: ", "))\n")
  }

  /// One part as an array, several as an object of arrays.
  private func json(_ parts: [String]) async -> LoopbackListener.Response {
    let tables = await report.tables(parts)
    var writer = JSONWriter(isPretty: true)
    if parts.count == 1, let table = tables.first {
      table.write(to: &writer)
    } else {
      writer.beginObject()
      for table in tables {
        writer.name(table.name)
        table.write(to: &writer)
      }
      writer.endObject()
    }
    writer.endLine()
    return .init(contentType: "application/json", body: writer.bytes)
  }

  private var page: LoopbackListener.Response {
    get async {
      let title = AdminTable.escaped(report.program)
      var text =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>\(title)</title>\n<style>\(Self.style)</style>"
      text += "</head><body>\n<h1>\(title)</h1>\n"
      let links = ["/metrics", "/livez", "/readyz", "/debug/all"].map { "<a href=\"\($0)\">\($0)</a>" }
      text += "<p>\(links.joined(separator: " "))</p>\n"
      for table in await report.tables() { text += table.html }
      return .init(contentType: "text/html; charset=utf-8", body: Array((text + "</body></html>\n").utf8))
    }
  }

  private static let style = """
    body{font:14px/1.4 system-ui,sans-serif;margin:2em}table{border-collapse:collapse}\
    td,th{border:1px solid #ccc;padding:2px 8px;text-align:left;font-variant-numeric:tabular-nums}
    """
}
