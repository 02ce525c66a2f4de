internal import EventLoop
internal import HTTP2
internal import Outbound
internal import PostgreSQL
internal import RPCServer
internal import Telemetry

/// What the admin page shows: gathered when somebody asks, in lists that are bounded, so that no loop is held up.
struct AdminReport: Sendable {
  let program: String
  let settings: Settings
  let health: HealthStatus
  let server: RPCServer
  let resources: ServiceResources
  let limits: RPCServerConfiguration

  /// Connections that are described, of each loop.
  static let connectionLimit = 100

  /// The names of the parts, in the order of the page.
  static let parts = ["status", "loops", "connections", "streams", "pools", "limits", "build", "configuration"]

  /// All parts, or those that are asked for.
  func tables(_ names: [String] = parts) async -> [AdminTable] {
    let isAsked = names.contains { ["status", "loops", "connections", "streams"].contains($0) }
    let snapshot = isAsked ? await server.snapshot(connections: Self.connectionLimit) : nil
    return names.compactMap { table($0, snapshot) }
  }

  private func table(_ name: String, _ snapshot: ServerSnapshot?) -> AdminTable? {
    switch (name, snapshot) {
    case ("status", let snapshot?): status(snapshot)
    case ("loops", let snapshot?): loops(snapshot)
    case ("connections", let snapshot?): connections(snapshot)
    case ("streams", let snapshot?): streams(snapshot)
    case ("pools", _): pools
    case ("limits", _): limitTable
    case ("build", _): build
    case ("configuration", _): configuration
    default: nil
    }
  }

  private func status(_ snapshot: ServerSnapshot) -> AdminTable {
    let reasons = health.reasons
    let uptime = WallClock.system.unixSeconds - Int64(ProcessStatistics.startSeconds)
    return AdminTable(
      name: "status",
      columns: ["program", "serving", "reasons", "uptime_seconds", "connections", "streams", "resident_bytes", "descriptors"],
      rows: [
        [
          .text(program), .truth(reasons.isEmpty), .text(reasons.joined(separator: ", ")), .number(Int(uptime)),
          .number(snapshot.loops.reduce(0) { $0 + ($1?.connections ?? 0) }),
          .number(snapshot.loops.reduce(0) { $0 + ($1?.streams ?? 0) }),
          .number(Int(ProcessStatistics.residentBytes)), .number(Int(ProcessStatistics.openDescriptors)),
        ]
      ])
  }

  private func loops(_ snapshot: ServerSnapshot) -> AdminTable {
    var table = AdminTable(
      name: "loops",
      columns: [
        "loop", "answers", "connections", "streams", "running_handlers", "ticks", "jobs", "armed_timers", "mean_lag_ms",
        "glitches", "resets",
      ])
    for (loop, counts) in zip(resources.loops.loops, snapshot.loops) {
      let statistics = loop.statistics
      let lag = resources.telemetry.registry.histogram("parley_loop_lag_seconds", labels: [("loop", loop.name)]).snapshot
      let count = lag.counts.reduce(0, +)
      table.rows.append([
        .text(loop.name), .truth(counts != nil), counts.map { .number($0.connections) } ?? .none,
        counts.map { .number($0.streams) } ?? .none, counts.map { .number($0.runningHandlers) } ?? .none,
        .number(statistics.ticks), .number(statistics.jobs), .number(statistics.armedTimers),
        count == 0 ? .none : .text(Self.decimal(lag.sum / Double(count) * 1_000)),
        counts.map { .number($0.http2.glitches) } ?? .none, counts.map { .number($0.http2.resetsReceived) } ?? .none,
      ])
    }
    return table
  }

  private func connections(_ snapshot: ServerSnapshot) -> AdminTable {
    var table = AdminTable(
      name: "connections",
      columns: [
        "peer", "loop", "tls", "identity", "age_seconds", "silent_seconds", "streams", "queued_bytes", "draining",
      ])
    table.rows = snapshot.connections.map {
      [
        .text($0.peer), .text($0.loop), .truth($0.isSecure), $0.certifiedName.map { .text($0) } ?? .none,
        .number(Int($0.age.components.seconds)), .number(Int($0.silence.components.seconds)), .number($0.streams),
        .number($0.queuedBytes), .truth($0.isDraining),
      ]
    }
    let all = snapshot.loops.reduce(0) { $0 + ($1?.connections ?? 0) }
    if all > table.rows.count { table.note = "the oldest \(table.rows.count) of \(all)" }
    return table
  }

  private func streams(_ snapshot: ServerSnapshot) -> AdminTable {
    AdminTable(
      name: "streams", columns: ["method", "open"],
      rows: snapshot.streamsByMethod.sorted { $0.key < $1.key }.map { [.text($0.key), .number($0.value)] })
  }

  private var pools: AdminTable {
    var table = AdminTable(name: "pools", columns: ["pool", "in_use", "open", "limit", "waiting", "waits", "waited_seconds"])
    if let database = resources.database {
      let statistics = database.statistics
      table.rows.append([
        "database writes", .number(statistics.inUse), .number(statistics.poolConnections),
        .number(database.configuration.poolSize * statistics.loops), .number(statistics.waiting),
        .number(statistics.poolWaits), .text(Self.decimal(Double(statistics.poolWaitNanoseconds) / 1_000_000_000)),
      ])
      table.rows.append([
        "database reads", .none, .number(statistics.readyLoops), .number(statistics.loops), .none, .none, .none,
      ])
    }
    table.rows.append(["outbound", .number(resources.outbound.statistics.inFlight), .none, .none, .none, .none, .none])
    return table
  }

  /// What is in force, by the names that the program has for it: whatever limit there is, it is here.
  private var limitTable: AdminTable {
    var table = AdminTable(name: "limits", columns: ["limit", "value"])
    func add(_ prefix: String, _ value: Any) {
      for child in Mirror(reflecting: value).children {
        guard let name = child.label, let text = Self.limit(child.value) else { continue }
        table.rows.append([.text(prefix + name), .text(text)])
      }
    }
    add("http2.", limits.http2)
    add("accept.", limits.accept)
    add("server.", limits)
    return table
  }

  private static func limit(_ value: Any) -> String? {
    switch value {
    case let number as any BinaryInteger: "\(number)"
    case let number as Double: "\(number)"
    case let truth as Bool: truth ? "yes" : "no"
    case let duration as Duration: duration.configurationText
    default: Swift.type(of: value) == Duration?.self ? "none" : nil
    }
  }

  private var build: AdminTable {
    AdminTable(
      name: "build", columns: ["part", "version"],
      rows: ServiceVersion.lines(of: program).map { [.text($0.name), .text($0.version)] })
  }

  private var configuration: AdminTable {
    AdminTable(
      name: "configuration", columns: ["key", "variable", "value", "source"],
      rows: settings.entries.map { [.text($0.key.name), .text($0.variable), .text($0.shown), .text($0.source)] })
  }

  /// Three decimals.
  private static func decimal(_ value: Double) -> String {
    let thousandths = Int((value * 1_000).rounded())
    let fraction = String(thousandths % 1_000)
    return "\(thousandths / 1_000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
  }
}
