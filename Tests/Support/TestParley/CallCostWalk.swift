internal import Glibc
internal import ParleyAPI
internal import PostgreSQL
public import RPC
internal import RPCServer
public import ServiceKit
internal import TestSupport
internal import WellKnown

/// Counts what a call of each method of a service costs its database, and compares that with the committed table.
///
/// ```swift
/// var walk = try CallCostWalk(AuthAPI.AuthService.self, costs)   // with which the service was started
/// await walk.count("AuthService/GetProfile") { _ in _ = try await client.getProfile(options: options) }
/// …
/// for problem in try walk.end() { Issue.record("\(problem)") }
/// ```
/// Methods come from the descriptors: one that nobody counts is a problem, unless the table says why it cannot be counted. What a
/// service does beside its calls is not theirs: the meter follows the task of a call.
public struct CallCostWalk {
  /// How often a call that costs too much is made again: a page that is read slowly, a lock that somebody else has.
  private static let tries = 4

  private let service: String
  private let costs: CallCosts
  private let methods: [MethodInfo]
  private var table: CallCostTable
  private var counted: [String: StatementMeter.Cost] = [:]
  private var problems: [String] = []

  /// A walk over a service that counts into `costs`.
  ///
  /// - Throws: ``TestSupport/TimedOut`` when the table cannot be read.
  public init<S: Service>(_ service: S.Type, _ costs: CallCosts) throws {
    self.service = S.name
    self.costs = costs
    methods = (S.services + Self.standard).flatMap(\.methods)
    table = try CallCostTable()
  }

  /// What every executable serves.
  private static let standard: [ServiceDescriptor] =
    [GRPCHealthV1.Health.descriptor] + ReflectionService([ServiceDescriptor]()).routes.map(\.descriptor)

  /// Counts a method's second call: by then its statements are prepared, and what is remembered is.
  ///
  /// A call that costs more than the table allows is made again: the least counts. Of a stream that does not end by itself the
  /// beginning is counted, up to where the call gives it up.
  ///
  /// - Parameters:
  ///   - name: The method: `AuthService/GetProfile`, or its path.
  ///   - form: What is special about the call, where one method is counted in several forms; part of the row's key.
  ///   - call: Makes it, with all that has to be there before: calls of other methods are not counted, and of this method the last is.
  ///     Gets the number of the try, from 0 on.
  public mutating func count(_ name: String, _ form: String = "", _ call: (Int) async throws -> Void) async {
    guard let method = methods.first(where: { $0.path == name || $0.path.hasSuffix(".\(name)") }) else {
      problems.append("\(name): there is no such method")
      return
    }
    let key = form.isEmpty ? method.path : "\(method.path) \(form)"
    let known: StatementMeter.Cost? = if case .cost(let cost)? = table.rows(of: service)[key] { cost } else { nil }
    do {
      var least: StatementMeter.Cost?
      for number in 0...Self.tries {
        _ = costs.take()
        try await call(number)
        let cost = try await ended(method)
        guard number > 0 else { continue }
        if least.map({ cost.isLess(than: $0) }) ?? true { least = cost }
        if cost.isWithin(known ?? cost) { break }
      }
      counted[key] = least
    } catch { problems.append("\(key): \(error)") }
  }

  /// Counts the services that every executable has.
  public mutating func countStandard(over channel: any Channel) async {
    for method in Self.standard.flatMap(\.methods) {
      let empty = RequestWalk(putting: "") { _, _ in nil }.step(of: method, field: "")
      await count(method.path) { _ in
        if let error = try await empty.send(over: channel, CallOptions(deadline: .after(.seconds(30)))) { throw error }
      }
    }
  }

  /// Counts what operators see and do of a service's jobs.
  ///
  /// - Parameters:
  ///   - channel: As an operator.
  ///   - dead: Makes a job that is dead, and tells its name.
  public mutating func countJobs(as channel: any Channel, dead: () async throws -> String) async {
    let (jobs, options) = (JobAdminService.Client(channel), CallOptions(deadline: .after(.seconds(55))))
    await count("JobAdminService/ListJobs") { _ in _ = try await jobs.listJobs(options: options) }
    await count("JobAdminService/GetJob") { _ in _ = try await jobs.getJob(.init(id: try await dead()), options: options) }
    await count("JobAdminService/RetryJob") { _ in _ = try await jobs.retryJob(.init(id: try await dead()), options: options) }
    await count("JobAdminService/PurgeJobs") { _ in
      _ = try await jobs.purgeJobs(.init(ids: [try await dead()]), options: options)
    }
    await count("JobAdminService/PurgeJobs", "all dead") { _ in
      _ = try await dead()
      _ = try await jobs.purgeJobs(.init(allDead: true), options: options)
    }
    await count("JobAdminService/ListQueues") { _ in _ = try await jobs.listQueues(options: options) }
    // Of a queue that nothing else is in.
    await count("JobAdminService/PauseQueue") { number in
      _ = try await jobs.pauseQueue(.init(queue: "walk-\(number)"), options: options)
    }
    await count("JobAdminService/ResumeQueue") { number in
      _ = try await jobs.resumeQueue(.init(queue: "walk-\(number)"), options: options)
    }
  }

  /// The last call of a method, once its handler has ended: the caller may have its answer before.
  private func ended(_ method: MethodInfo) async throws -> StatementMeter.Cost {
    var last: CallCosts.Entry?
    try await eventually("the end of \(method.path)") {
      let isStream = method.kind == .serverStreaming || method.kind == .bidirectional
      last = costs.take().last { $0.path == method.path && ($0.isAnswered || isStream) } ?? last
      return last != nil
    }
    guard let last else { throw TimedOut("a call of \(method.path)") }
    return last.cost
  }

  /// Compares. With `PARLEY_RECORD_COSTS=1` writes the table first, where figures are lower or new; with `PARLEY_RECORD_STATEMENTS=1`
  /// writes the texts of all statements that the service has sent.
  ///
  /// - Returns: What is wrong: figures above the table's, methods without any, rows without a method.
  public mutating func end() throws -> [String] {
    if getenv("PARLEY_RECORD_COSTS") != nil {
      // Another suite of this process may have written its rows meanwhile.
      table = try CallCostTable()
      table.lower(counted, of: service)
      try table.write()
    }
    if getenv("PARLEY_RECORD_STATEMENTS") != nil {
      try RecordedStatements(costs.all.statements).write(as: service)
    }
    let rows = table.rows(of: service)
    for (key, cost) in counted.sorted(by: { $0.key < $1.key }) {
      print("call costs: \(key): \(cost.text)")
      switch rows[key] {
      case .cost(let known) where cost.isWithin(known): break
      case .cost(let known): problems.append("\(key): \(cost.text), where the table has \(known.text)")
      case .uncounted: problems.append("\(key): \(cost.text), where the table says that it cannot be counted")
      case nil: problems.append("\(key): \(cost.text), and no row in the table (PARLEY_RECORD_COSTS=1 writes it)")
      }
    }
    let excused = rows.filter { if case .uncounted = $0.value { true } else { false } }.keys
    func path(_ key: String) -> String { String(key.prefix { $0 != " " }) }
    let known = Set(counted.keys.map(path) + excused.map(path))
    for method in methods where !known.contains(method.path) {
      problems.append("\(method.path): not counted, and the table does not say why not")
    }
    let paths = Set(methods.map(\.path))
    for key in rows.keys.sorted() where !paths.contains(path(key)) || counted[key] == nil && !excused.contains(key) {
      problems.append("\(key): a row of the table that nobody counts")
    }
    return problems
  }
}
