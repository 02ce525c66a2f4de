/// One setting, declared once: its names, type, default, bounds and meaning.
///
/// The dotted name is the key's own (`tls.clientCa`); the environment's name follows from it
/// (`PARLEY_<SERVICE>_TLS_CLIENT_CA`), and so does the flag's (`--tls-client-ca`).
public struct ConfigurationKey<Value: ConfigurationValue>: ConfigurationKeyDeclaration {
  /// The dotted name, in lower camel case.
  public let name: String
  /// One line that says what it is for.
  public let documentation: String
  /// Whether its value is never shown.
  public let isSecret: Bool
  /// Other names it is known by in the environment.
  public private(set) var aliases: [ConfigurationAlias]
  let defaultValue: Value?
  let bounds: String?
  let complaint: @Sendable (Value) -> String?

  /// A key with a default.
  ///
  /// - Parameters:
  ///   - name: The dotted name, in lower camel case.
  ///   - value: What holds where nothing is given.
  ///   - isSecret: Whether its value is kept out of everything that is shown.
  ///   - aliases: Other names in the environment.
  ///   - check: Says what is wrong with a value that has the right type, or nil.
  ///   - documentation: What it means, in one sentence.
  public init(
    _ name: String, default value: Value, isSecret: Bool = false, aliases: [ConfigurationAlias] = [],
    check: @escaping @Sendable (Value) -> String? = { _ in nil }, _ documentation: String
  ) {
    self.init(name, value, isSecret, aliases, nil, check, documentation)
  }

  /// A key that must be given.
  public init(
    required name: String, isSecret: Bool = false, aliases: [ConfigurationAlias] = [],
    check: @escaping @Sendable (Value) -> String? = { _ in nil }, _ documentation: String
  ) {
    self.init(name, nil, isSecret, aliases, nil, check, documentation)
  }

  /// A key that may be left out.
  public init(
    optional name: String, isSecret: Bool = false, aliases: [ConfigurationAlias] = [],
    check: @escaping @Sendable (Value) -> String? = { _ in nil }, _ documentation: String
  ) where Value: ExpressibleByNilLiteral {
    self.init(name, .some(nil), isSecret, aliases, nil, check, documentation)
  }

  /// A key whose value lies between two others, both included.
  public init(
    _ name: String, default value: Value, in range: ClosedRange<Value>, aliases: [ConfigurationAlias] = [],
    _ documentation: String
  ) where Value: Comparable {
    let bounds = "\(range.lowerBound.configurationText) to \(range.upperBound.configurationText)"
    self.init(name, value, false, aliases, bounds, { range.contains($0) ? nil : bounds }, documentation)
  }

  private init(
    _ name: String, _ value: Value?, _ isSecret: Bool, _ aliases: [ConfigurationAlias], _ bounds: String?,
    _ complaint: @escaping @Sendable (Value) -> String?, _ documentation: String
  ) {
    self.name = name
    defaultValue = value
    self.isSecret = isSecret
    self.aliases = aliases
    self.bounds = bounds
    self.complaint = complaint
    self.documentation = documentation
  }

  /// This key with another default, for a service that needs another.
  func defaulting(to value: Value) -> ConfigurationKey {
    ConfigurationKey(name, value, isSecret, aliases, bounds, complaint, documentation)
  }

  /// This key with one more name in the environment. A service lists the result among its own keys, where it takes the place
  /// of the standard key of the same name.
  public func aliased(_ alias: ConfigurationAlias) -> ConfigurationKey {
    var key = self
    key.aliases.append(alias)
    return key
  }
}

/// A name by which a setting was known before, as a whole variable of the environment.
public struct ConfigurationAlias: Sendable, ExpressibleByStringLiteral {
  /// The variable: `OIDC_CLIENT_ID`.
  public let variable: String
  /// Turns what the variable held into what the key takes.
  let convert: @Sendable (String) -> String

  /// An alias; `convert` turns what the variable held into what the key takes.
  public init(_ variable: String, convert: @escaping @Sendable (String) -> String = { $0 }) {
    self.variable = variable
    self.convert = convert
  }

  /// An alias that is taken as it is.
  public init(stringLiteral variable: String) { self.init(variable) }
}

/// A key whatever its type, for lists of keys. Only ``ConfigurationKey`` conforms to it.
public protocol ConfigurationKeyDeclaration: Sendable {
  /// The dotted name, in lower camel case.
  var name: String { get }
  /// One line that says what it is for.
  var documentation: String { get }
  /// Whether its value is never shown.
  var isSecret: Bool { get }
  /// Other names it is known by in the environment.
  var aliases: [ConfigurationAlias] { get }
  /// What values are accepted: type and bounds.
  var expectation: String { get }
  /// The default as text, empty when it is no value; nil for a key that must be given.
  var defaultText: String? { get }
  /// Reads and checks a text.
  func read(_ text: String) -> ConfigurationReading
  /// The default, boxed; nil for a key that must be given.
  var boxedDefault: (any Sendable)? { get }
}

/// What became of a text that was read as the value of a key.
public enum ConfigurationReading: Sendable {
  /// It was accepted: the value, and how it would be written.
  case value(any Sendable, text: String)
  /// It was refused, with what was expected.
  case refused(expected: String)
}

extension ConfigurationKey {
  /// What a text must be to be read.
  public var expectation: String { bounds.map { "\(Value.expectation), \($0)" } ?? Value.expectation }

  /// The default as text; nil for a key that must be given.
  public var defaultText: String? { defaultValue?.configurationText }

  /// The default; nil for a key that must be given.
  public var boxedDefault: (any Sendable)? { defaultValue }

  /// Reads and checks a text.
  public func read(_ text: String) -> ConfigurationReading {
    guard let value = Value(configurationText: text) else { return .refused(expected: expectation) }
    if let complaint = complaint(value) { return .refused(expected: "\(Value.expectation), \(complaint)") }
    return .value(value, text: value.configurationText)
  }
}

extension ConfigurationKeyDeclaration {
  /// The part of the environment's name that is the key's own: `tls.clientCa` is `TLS_CLIENT_CA`.
  public var variable: String {
    var text = ""
    for character in name {
      if character == "." {
        text.append("_")
      } else {
        if character.isUppercase { text.append("_") }
        text += character.uppercased()
      }
    }
    return text
  }

  /// The long flag without its dashes: `tls.clientCa` is `tls-client-ca`.
  public var flag: String { variable.lowercased().replacing("_", with: "-") }
}
