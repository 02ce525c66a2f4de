internal import PostgreSQL

/// Reads a name that the database keeps as text.
func named<Value: RawRepresentable<String>>(_ text: String, _ type: Value.Type = Value.self) throws(DatabaseError) -> Value {
  guard let value = Value(rawValue: text) else { throw DatabaseError(.decodingFailed, "the text is no \(Value.self)") }
  return value
}
