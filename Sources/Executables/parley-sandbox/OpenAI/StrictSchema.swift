import JSON

/// What OpenAI wants of a schema that is marked as strict.
enum StrictSchema {
  /// What is wrong with a schema, or nil: each object names all its members as required and allows no others.
  static func fault(_ schema: JSONValue, at path: String = "()") -> String? {
    guard schema.object != nil else { return "In context=\(path), a schema is not an object." }
    if let members = schema["properties"]?.object {
      guard schema["additionalProperties"]?.bool == false else {
        return "In context=\(path), 'additionalProperties' is required to be supplied and to be false."
      }
      let required = (schema["required"]?.array ?? []).compactMap(\.string)
      for member in members where !required.contains(member.name) {
        return
          "In context=\(path), 'required' is required to be an array that includes every key in properties. Missing '\(member.name)'."
      }
      for name in required where members[name] == nil {
        return "In context=\(path), 'required' has '\(name)', which is no property."
      }
      for member in members {
        if let fault = fault(member.value, at: "\(path).properties.\(member.name)") { return fault }
      }
    } else if isObject(schema) {
      return "In context=\(path), an object has no 'properties'."
    }
    if let items = schema["items"], let fault = fault(items, at: path + ".items") { return fault }
    for choice in schema["anyOf"]?.array ?? [] {
      if let fault = fault(choice, at: path + ".anyOf") { return fault }
    }
    for definition in schema["$defs"]?.object ?? [:] {
      if let fault = fault(definition.value, at: "\(path).$defs.\(definition.name)") { return fault }
    }
    return nil
  }

  private static func isObject(_ schema: JSONValue) -> Bool {
    schema["type"]?.string == "object" || schema["type"]?.array?.contains("object") == true
  }
}
