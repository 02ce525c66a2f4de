import JSON

/// Makes a value that a schema allows, always the same for the same prompt.
struct SchemaFiller {
  private static let maximumDepth = 32

  private let hash: String
  private let seed: Int

  /// `hash` is that of the prompt, in hexadecimal.
  init(_ hash: String) {
    self.hash = hash
    seed = Int(hash.prefix(7), radix: 16) ?? 0
  }

  /// A value of the schema. A string says of which field and prompt it is.
  func value(of schema: JSONValue) -> JSONValue { value(of: schema, called: "answer", in: schema, depth: 0) }

  private func value(of schema: JSONValue, called name: String, in root: JSONValue, depth: Int) -> JSONValue {
    guard depth < Self.maximumDepth else { return .null }
    if let constant = schema["const"] { return constant }
    if let choices = schema["enum"]?.array, !choices.isEmpty { return choices[seed % choices.count] }
    if let reference = schema["$ref"]?.string {
      let definition = reference.split(separator: "/").last.map(String.init).flatMap { root["$defs"]?[$0] }
      return definition.map { value(of: $0, called: name, in: root, depth: depth + 1) } ?? .null
    }
    if let choices = schema["anyOf"]?.array {
      let choice = choices.first { $0["type"]?.string != "null" }
      return choice.map { value(of: $0, called: name, in: root, depth: depth + 1) } ?? .null
    }
    let type = schema["type"]?.string ?? schema["type"]?.array?.compactMap(\.string).first { $0 != "null" }
    switch type {
    case "string":
      let text = "\(name) of \(hash.prefix(8))"
      return .string(String(text.prefix(Int(schema["maxLength"]?.int64 ?? 1_000_000))))
    case "integer": return .number(JSONNumber(whole(schema)))
    case "number": return .number(JSONNumber(whole(schema)))
    case "boolean": return .bool(seed % 2 == 0)
    case "array":
      let count = max(Int(schema["minItems"]?.int64 ?? 1), 0)
      guard let items = schema["items"] else { return [] }
      return .array((0..<min(count, 100)).map { value(of: items, called: "\(name) \($0 + 1)", in: root, depth: depth + 1) })
    case "object":
      return .object(
        JSONObject(
          (schema["properties"]?.object ?? [:]).map {
            ($0.name, value(of: $0.value, called: $0.name, in: root, depth: depth + 1))
          }))
    default: return schema["properties"] == nil ? .null : value(of: object(schema), called: name, in: root, depth: depth + 1)
    }
  }

  /// A whole number between the schema's bounds, which are 0 and 100 where it says nothing.
  private func whole(_ schema: JSONValue) -> Int64 {
    let low = schema["minimum"]?.number?.double.map { Int64($0.rounded(.up)) } ?? 0
    let high = schema["maximum"]?.number?.double.map { Int64($0.rounded(.down)) } ?? max(low, 100)
    return high > low ? low + Int64(seed) % (high - low + 1) : low
  }

  private func object(_ schema: JSONValue) -> JSONValue {
    var object = schema.object ?? [:]
    object["type"] = "object"
    return .object(object)
  }
}
