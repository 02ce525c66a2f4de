internal import CPostgreSQL

/// The fields of an error report, by the letters of the protocol (PG_DIAG_* are macros that Swift does not import).
enum Diagnostic: Int32 {
  case severity = 86  // V, not localized
  case sqlState = 67  // C
  case message = 77  // M
  case constraint = 110  // n
}

extension DatabaseError {
  /// Reads the error that the server reported in `result`.
  init(from result: OpaquePointer) {
    let state = Self.field(.sqlState, of: result).map { SQLState(rawValue: $0) }
    let text = Self.field(.message, of: result) ?? String(cString: PQresultErrorMessage(result))
    self.init(
      state?.code ?? .connectionLost, Self.withoutValues(text, state), sqlState: state,
      severity: Self.field(.severity, of: result), constraint: Self.field(.constraint, of: result))
  }

  /// A failure that libpq itself reports about a connection.
  static func connection(_ pointer: OpaquePointer?, _ what: String) -> DatabaseError {
    let text = pointer.map { String(cString: PQerrorMessage($0)) } ?? ""
    let line = text.split(separator: "\n").first.map { ": \($0)" } ?? ""
    return .init(.connectionLost, what + line)
  }

  /// Whether a prepared statement is missing, or no longer fits its tables: prepared anew, it may succeed.
  var isStaleStatement: Bool { sqlState == .invalidStatementName || sqlState == .featureNotSupported }

  static func field(_ field: Diagnostic, of result: OpaquePointer) -> String? {
    PQresultErrorField(result, field.rawValue).map { String(cString: $0) }
  }

  /// Class 22 (data exception) quotes the offending value in its message: that could be anybody's data.
  private static func withoutValues(_ message: String, _ state: SQLState?) -> String {
    guard state?.classCode == "22" else { return message }
    return message.prefix { $0 != ":" && $0 != "\"" } + (message.contains("\"") ? "…" : "")
  }
}
