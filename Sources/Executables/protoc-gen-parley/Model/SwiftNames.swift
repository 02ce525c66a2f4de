/// The rules that turn names of `.proto` files into Swift names.
enum SwiftNames {
  private static let keywords: Set<String> = [
    "Any", "Protocol", "Self", "Type", "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer",
    "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import",
    "in", "init", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public",
    "repeat", "rethrows", "return", "self", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try",
    "typealias", "var", "where", "while", "_",
  ]
  private static let acronyms = ["id": "ID", "url": "URL", "http": "HTTP", "https": "HTTPS", "json": "JSON", "ids": "IDs"]
  private static let spelled = ["grpc": "GRPC", "rpc": "RPC", "opentelemetry": "OpenTelemetry"]
  /// Members that every message or enum has already.
  private static let taken: Set<String> = ["unknownFields", "hashValue", "rawValue", "unrecognized"]

  /// `expires_in` → `expiresIn`, `user_id` → `userID`.
  static func member(_ name: String) -> String {
    let parts = words(name)
    guard let first = parts.first else { return "_" }
    let tail = parts.dropFirst().map { acronyms[$0.lowercased()] ?? capitalized($0) }
    var result = uncapitalized(first) + tail.joined()
    if taken.contains(result) || result.first?.isNumber == true { result = "_" + result }
    return result
  }

  /// A member's name as a declaration or an enum case needs it, in backticks where Swift wants them.
  static func escaped(_ name: String) -> String {
    keywords.contains(name) ? "`\(name)`" : name
  }

  /// `health_check` → `HealthCheck`; a name that Swift keeps for itself gets a suffix.
  static func type(_ name: String, suffix: String) -> String {
    let result = words(name).map(capitalized).joined()
    return ["Type", "Protocol", "Self", "Any"].contains(result) ? result + suffix : result
  }

  /// The namespace of a package that is not ours: `grpc.health.v1` → `GRPCHealthV1`. Ours have none.
  static func namespace(ofPackage package: String) -> String? {
    guard !package.isEmpty, package != "parley", !package.hasPrefix("parley.") else { return nil }
    return joined(package)
  }

  /// The name of a generated file: `parley/broker/v1/broker.proto` → `BrokerV1+Broker.swift`.
  static func file(_ path: String, package: String) -> String {
    let base = path.split(separator: "/").last.map(String.init) ?? path
    let stem = base.hasSuffix(".proto") ? String(base.dropLast(6)) : base
    let prefix = joined(package.hasPrefix("parley.") ? String(package.dropFirst(7)) : package)
    return "\(prefix)+\(type(stem, suffix: "")).swift"
  }

  /// The case of an enum value: `SERVING_STATUS_UNKNOWN` of `ServingStatus` → `unknown`.
  static func enumCase(_ name: String, enumName: String, allNames: [String]) -> String {
    let prefix = screaming(enumName) + "_"
    let strippable = allNames.allSatisfy { $0.hasPrefix(prefix) && $0.count > prefix.count && !startsWithDigit($0, prefix) }
    let stem = strippable ? String(name.dropFirst(prefix.count)) : name
    let isScreaming = stem.allSatisfy { !$0.isLowercase }
    return member(isScreaming ? stem.lowercased() : stem)
  }

  /// The names with a number behind those that another number has taken: `field_name = 1` and `Field_name = 2` are
  /// `fieldName` and `fieldName_2`. The first to come keeps its name, and equal names of one number stay equal.
  static func distinct(_ names: [String], numbers: [Int32]) -> [String] {
    var owners: [String: Int32] = [:]
    return zip(names, numbers).map { name, number in
      var result = name
      while let owner = owners[result], owner != number { result += "_\(number < 0 ? "minus\(number.magnitude)" : "\(number)")" }
      owners[result] = number
      return result
    }
  }

  static func capitalized(_ word: String) -> String {
    word.prefix(1).uppercased() + word.dropFirst()
  }

  private static func joined(_ package: String) -> String {
    package.split(separator: ".").map { part in spelled[String(part)] ?? words(String(part)).map(capitalized).joined() }.joined()
  }

  private static func startsWithDigit(_ name: String, _ prefix: String) -> Bool {
    name.dropFirst(prefix.count).first?.isNumber == true
  }

  private static func uncapitalized(_ word: String) -> String {
    word.allSatisfy { !$0.isLowercase } ? word.lowercased() : word.prefix(1).lowercased() + word.dropFirst()
  }

  private static func words(_ name: String) -> [String] {
    name.split(separator: "_").map(String.init)
  }

  /// `ServingStatus` → `SERVING_STATUS`.
  private static func screaming(_ name: String) -> String {
    var result = ""
    var previousIsLower = false
    for character in name {
      if character.isUppercase && previousIsLower { result += "_" }
      result += character.uppercased()
      previousIsLower = character.isLowercase || character.isNumber
    }
    return result
  }
}
