import MessagesCore

/// The rules of the language that concern all fields of a message together.
enum FieldRules {
  static func check(_ fields: [FieldPlan], of message: String, isMapEntry: Bool) throws(DescriptorError) {
    var numbers: Set<Int32> = []
    var names: Set<String> = []
    for field in fields {
      guard numbers.insert(field.number).inserted else {
        throw DescriptorError(.duplicate, "two fields of \(message) have the number \(field.number)")
      }
      guard names.insert(field.name).inserted else {
        throw DescriptorError(.duplicate, "two fields of \(message) are called \(field.name)")
      }
    }
    if isMapEntry { try checkEntry(fields, of: message) }
  }

  /// The entry of a map is a key and a value; reading and writing maps relies on it.
  private static func checkEntry(_ fields: [FieldPlan], of message: String) throws(DescriptorError) {
    let sorted = fields.sorted { $0.number < $1.number }
    guard sorted.map(\.number) == [1, 2], sorted.map(\.name) == ["key", "value"] else {
      throw DescriptorError(.invalid, "\(message) is no entry of a map: it has other fields than key and value")
    }
    for field in sorted where field.presence != .implicit && field.presence != .explicit {
      throw DescriptorError(.invalid, "\(message).\(field.name) is no single value")
    }
    guard case .scalar(let key) = sorted[0].kind, ![.float, .double, .bytes].contains(key) else {
      throw DescriptorError(.invalid, "\(message).key has a type that no key can have")
    }
  }
}
