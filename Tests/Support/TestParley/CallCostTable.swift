internal import Glibc
internal import JSON
internal import PostgreSQL
internal import TestSupport

/// What calls may cost the database, as it is committed: `Tests/Services/call-costs.json`. It is only ever lowered.
struct CallCostTable {
  enum Row: Equatable {
    case cost(StatementMeter.Cost)
    /// Why it cannot be counted.
    case uncounted(String)
  }

  private static let file = CheckoutFile("Tests/Services/call-costs.json")

  /// By service and key: a method's path, and the form of the call where it is counted in several.
  private var services: [String: [String: Row]]

  init() throws {
    try self.init(Self.file.exists ? try Self.file.read() : "{}")
  }

  /// - Throws: ``TestSupport/TimedOut`` where the text is no such table.
  init(_ text: String) throws {
    services = [:]
    for (service, rows) in try Self.members(try JSONParser.parse(text), "the table") {
      for (key, value) in try Self.members(rows, service) { services[service, default: [:]][key] = try Self.row(value, key) }
    }
  }

  private static func members(_ value: JSONValue, _ what: String) throws -> [(String, JSONValue)] {
    guard let object = value.object else { throw TimedOut("an object: \(what) of \(file)") }
    return object.map { ($0.name, $0.value) }
  }

  private static func row(_ value: JSONValue, _ key: String) throws -> Row {
    if let reason = value["uncounted"]?.string, !reason.isEmpty { return .uncounted(reason) }
    let numbers = ["statements", "roundTrips", "syncingCommits"].compactMap { value[$0]?.int64.flatMap { Int(exactly: $0) } }
    guard numbers.count == 3 else { throw TimedOut("three numbers, or a reason: \(key) of \(file)") }
    var cost = StatementMeter.Cost()
    (cost.statements, cost.roundTrips, cost.flushes) = (numbers[0], numbers[1], numbers[2])
    return .cost(cost)
  }

  /// The rows of a service.
  func rows(of service: String) -> [String: Row] { services[service] ?? [:] }

  /// Puts in what was counted, where it is less than what is there.
  mutating func lower(_ costs: [String: StatementMeter.Cost], of service: String) {
    for (key, cost) in costs {
      switch services[service]?[key] {
      case .cost(let known): services[service]?[key] = .cost(known.least(with: cost))
      case .uncounted: break
      case nil: services[service, default: [:]][key] = .cost(cost)
      }
    }
  }

  /// Writes it, a row a line.
  func write() throws { try Self.file.write(text) }

  /// As it is committed.
  var text: String {
    let parts = services.sorted { $0.key < $1.key }.map { service, rows in
      let lines = rows.sorted { $0.key < $1.key }.map { "    \(Self.text($0.key)): \(Self.text($0.value))" }
      return "  \(Self.text(service)): {\n\(lines.joined(separator: ",\n"))\n  }"
    }
    return "{\n\(parts.joined(separator: ",\n"))\n}\n"
  }

  private static func text(_ row: Row) -> String {
    switch row {
    case .cost(let cost):
      #"{"statements": \#(cost.statements), "roundTrips": \#(cost.roundTrips), "syncingCommits": \#(cost.flushes)}"#
    case .uncounted(let reason): #"{"uncounted": \#(text(reason))}"#
    }
  }

  private static func text(_ string: String) -> String { JSONValue.string(string).description }
}

extension StatementMeter.Cost {
  /// Whether no figure is above another call's.
  func isWithin(_ other: Self) -> Bool {
    statements <= other.statements && roundTrips <= other.roundTrips && flushes <= other.flushes
  }

  /// Each figure as low as in one of both.
  func least(with other: Self) -> Self {
    var least = self
    least.statements = min(statements, other.statements)
    least.roundTrips = min(roundTrips, other.roundTrips)
    least.flushes = min(flushes, other.flushes)
    return least
  }

  /// Whether it is the better of two calls: by what takes longest.
  func isLess(than other: Self) -> Bool {
    (flushes, roundTrips, statements) < (other.flushes, other.roundTrips, other.statements)
  }

  /// As people read it.
  var text: String { "\(statements) statements, \(roundTrips) round trips, \(flushes) syncing commits" }
}
