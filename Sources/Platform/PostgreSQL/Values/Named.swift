/// Reads a name that the database keeps as text: `state: try named(row.2)`.
///
/// - Parameters:
///   - text: What the column says.
///   - type: What is named.
/// - Throws: ``DatabaseError`` with `decodingFailed` when the text is none of the names.
public func named<Value: RawRepresentable<String>>(
  _ text: String, _ type: Value.Type = Value.self
) throws(DatabaseError) -> Value {
  guard let value = Value(rawValue: text) else { throw DatabaseError(.decodingFailed, "the text is no \(Value.self)") }
  return value
}
