import RPC

/// The fields of an `application/x-www-form-urlencoded` body.
struct FormBody {
  private let fields: [String: String]

  /// Reads a body; nil when a name comes twice.
  init?(_ body: [UInt8]) {
    var fields: [String: String] = [:]
    for pair in body.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let value = parts.count > 1 ? Self.decoded(parts[1]) : ""
      guard fields.updateValue(value, forKey: Self.decoded(parts[0])) == nil else { return nil }
    }
    self.fields = fields
  }

  /// The value of a field.
  subscript(name: String) -> String? { fields[name] }

  private static func decoded(_ text: ArraySlice<UInt8>) -> String {
    PercentEncoding.decode(text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
  }
}
