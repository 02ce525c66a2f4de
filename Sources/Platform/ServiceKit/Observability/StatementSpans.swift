internal import PostgreSQL
internal import Telemetry

/// A span for all statements that a call has run together, by OpenTelemetry's conventions for databases. Their text is the
/// program's own; parameters never get here.
struct StatementSpans: StatementObserver {
  let tracer: Tracer
  let configuration: DatabaseConfiguration

  /// Text of one statement beyond this is left out: a name and the first lines tell which one it is.
  private static let textBytes = 2_048

  private struct Observation: StatementObservation {
    let span: Span

    func statementsEnd(_ error: DatabaseError?) {
      if let error {
        if let state = error.sqlState { span.set("db.response.status_code", .string("\(state)")) }
        span.set("error.type", .string(error.sqlState.map { "\($0)" } ?? "\(error.category)"))
        span.fail(error.message)
      }
      span.end()
    }
  }

  func statementsBegin(_ statements: [Query]) -> (any StatementObservation)? {
    // Most calls are not recorded, and their statements' text is never put together.
    guard let current = Span.current, current.isRecorded, let first = statements.first else { return nil }
    let text = first.text
    let operation = Self.operation(text)
    guard let span = tracer.part(operation, .client) else { return nil }
    span.set("db.system.name", "postgresql")
    span.set("db.namespace", .string(configuration.database))
    span.set("db.operation.name", .string(operation))
    if statements.count > 1 { span.set("db.operation.batch.size", .int(Int64(statements.count))) }
    span.setStatement(String(decoding: text.utf8.prefix(Self.textBytes), as: UTF8.self))
    span.set("server.address", .string(configuration.host))
    span.set("server.port", .int(Int64(configuration.port)))
    return Observation(span: span)
  }

  /// The first word, in capitals.
  private static func operation(_ text: String) -> String {
    let word = text.drop { $0.isWhitespace || $0 == "(" }.prefix { $0.isLetter }
    return word.isEmpty ? "SQL" : word.uppercased()
  }
}
