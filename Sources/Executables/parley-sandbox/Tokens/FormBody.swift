import RPC

/// The fields of an `application/x-www-form-urlencoded` body.
struct FormBody {
  private let fields: [String: String]

  /// Reads a body; nil when a name comes twice.
  init?(_ body: [UInt8]) {
    var fields: [String: String] = [:]
    for (name, value) in QueryEncoding.parameters(body) {
      let name = String(decoding: name, as: UTF8.self)
      guard fields.updateValue(String(decoding: value, as: UTF8.self), forKey: name) == nil else { return nil }
    }
    self.fields = fields
  }

  /// The value of a field.
  subscript(name: String) -> String? { fields[name] }
}
