internal import JSON
internal import RPC

/// One value of a service config with the way to it, so that every complaint says where.
struct ConfigField {
  let path: String
  let value: JSONValue

  func invalid(_ message: String) -> ServiceConfigError { ServiceConfigError(.invalidValue, path, message) }

  /// The members of an object that has no others than those named.
  func members(_ known: Set<String>, unsupported: Set<String> = []) throws(ServiceConfigError) -> ConfigObject {
    guard let object = value.object else { throw invalid("must be an object") }
    for member in object where !known.contains(member.name) {
      let isKnown = unsupported.contains(member.name)
      throw ServiceConfigError(
        .unknownField, child(member.name), isKnown ? "is not supported by this client" : "no field has this name")
    }
    return ConfigObject(path: path, object: object)
  }

  func elements() throws(ServiceConfigError) -> [ConfigField] {
    guard let array = value.array else { throw invalid("must be an array") }
    return array.indices.map { ConfigField(path: "\(path)[\($0)]", value: array[$0]) }
  }

  func child(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

  func text() throws(ServiceConfigError) -> String {
    guard let text = value.string else { throw invalid("must be a string") }
    return text
  }

  func flag() throws(ServiceConfigError) -> Bool {
    guard let flag = value.bool else { throw invalid("must be true or false") }
    return flag
  }

  /// A whole number; proto3 JSON spells those of 64 bits as strings, and accepts either for all.
  func integer(in range: ClosedRange<Int>) throws(ServiceConfigError) -> Int {
    let number = value.int64.map(Int.init) ?? value.string.flatMap { Int($0) }
    guard let number else { throw invalid("must be a whole number") }
    guard range.contains(number) else {
      throw invalid(
        range.upperBound == .max ? "must be at least \(range.lowerBound)" : "must be \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func positiveNumber() throws(ServiceConfigError) -> Double {
    guard let number = value.number?.double else { throw invalid("must be a number") }
    guard number > 0 else { throw invalid("must be greater than 0") }
    return number
  }

  /// A duration as proto3 JSON spells it: `1.5s`, at most nine digits behind the point.
  func positiveDuration() throws(ServiceConfigError) -> Duration {
    guard let text = value.string, let duration = Self.duration(text) else {
      throw invalid("must be a duration such as \"1.5s\"")
    }
    guard duration > .zero else { throw invalid("must be longer than 0") }
    return duration
  }

  private static func duration(_ text: String) -> Duration? {
    guard text.hasSuffix("s") else { return nil }
    let isNegative = text.hasPrefix("-")
    let parts = text.dropFirst(isNegative ? 1 : 0).dropLast().split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let seconds = whole(parts[0], most: 12), seconds <= 315_576_000_000 else { return nil }
    var nanoseconds: Int64 = 0
    if parts.count == 2 {
      guard var fraction = whole(parts[1], most: 9) else { return nil }
      for _ in parts[1].count..<9 { fraction *= 10 }
      nanoseconds = fraction
    }
    let duration = Duration.seconds(seconds) + .nanoseconds(nanoseconds)
    return isNegative ? .zero - duration : duration
  }

  private static func whole(_ digits: Substring, most: Int) -> Int64? {
    guard !digits.isEmpty, digits.utf8.count <= most, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return Int64(digits)
  }

  /// A status by name, in any case, or by number; OK is no failure.
  func failureCode() throws(ServiceConfigError) -> StatusCode {
    let code =
      value.int64.flatMap { StatusCode(rawValue: Int($0)) }
      ?? value.string.flatMap { name in StatusCode.allCases.first { $0.name == name.uppercased() } }
    guard let code else { throw invalid("must be a status code such as \"UNAVAILABLE\" or 14") }
    guard code != .ok else { throw invalid("OK is not a failure") }
    return code
  }
}

/// The members of one object of a service config. A member that is null counts as absent, as proto3 JSON has it.
struct ConfigObject {
  let path: String
  let object: JSONObject

  subscript(name: String) -> ConfigField? {
    guard let value = object[name], !value.isNull else { return nil }
    return ConfigField(path: path.isEmpty ? name : "\(path).\(name)", value: value)
  }

  func required(_ name: String) throws(ServiceConfigError) -> ConfigField {
    guard let field = self[name] else {
      throw ServiceConfigError(.missingField, path.isEmpty ? name : "\(path).\(name)", "is required")
    }
    return field
  }
}
