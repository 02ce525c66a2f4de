/// A type that a setting can have: it is read from text and written as text.
public protocol ConfigurationValue: Sendable {
  /// What a text must be to be read, as it reads after "expected": `a whole number`.
  static var expectation: String { get }
  /// Reads a text; nil when it is not as ``expectation`` says.
  init?(configurationText: String)
  /// The value as it would be written.
  var configurationText: String { get }
}

extension String: ConfigurationValue {
  /// What a text must be to be read.
  public static var expectation: String { "a text" }
  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) { self = configurationText }
  /// The value as it would be written.
  public var configurationText: String { self }
}

extension Int: ConfigurationValue {
  /// What a text must be to be read.
  public static var expectation: String { "a whole number" }
  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) { self.init(configurationText) }
  /// The value as it would be written.
  public var configurationText: String { "\(self)" }
}

extension Bool: ConfigurationValue {
  /// What a text must be to be read.
  public static var expectation: String { "true or false" }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    switch configurationText.lowercased() {
    case "true", "yes", "on", "1": self = true
    case "false", "no", "off", "0": self = false
    default: return nil
    }
  }

  /// The value as it would be written.
  public var configurationText: String { self ? "true" : "false" }
}

extension Optional: ConfigurationValue where Wrapped: ConfigurationValue {
  /// What a text must be to be read.
  public static var expectation: String { Wrapped.expectation }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    guard let value = Wrapped(configurationText: configurationText) else { return nil }
    self = .some(value)
  }

  /// The value as it would be written.
  public var configurationText: String { self?.configurationText ?? "" }
}

/// A value that may be switched off by the word `none`, where leaving it out means the default.
public struct ValueOrNone<Value: ConfigurationValue>: ConfigurationValue {
  /// The value; nil for none.
  public let value: Value?

  /// What a text must be to be read.
  public static var expectation: String { "none, or \(Value.expectation)" }

  /// A value, or none.
  public init(_ value: Value?) { self.value = value }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    guard configurationText != "none" else {
      value = nil
      return
    }
    guard let value = Value(configurationText: configurationText) else { return nil }
    self.value = value
  }

  /// The value as it would be written.
  public var configurationText: String { value?.configurationText ?? "none" }
}

/// Values separated by commas. Blanks around a value and empty values do not count.
extension Array: ConfigurationValue where Element: ConfigurationValue {
  /// What a text must be to be read.
  public static var expectation: String { "a list separated by commas, each \(Element.expectation)" }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    self = []
    for part in configurationText.split(separator: ",") {
      let text = part.trimmingBlanks
      if text.isEmpty { continue }
      guard let element = Element(configurationText: text) else { return nil }
      append(element)
    }
  }

  /// The value as it would be written.
  public var configurationText: String { map(\.configurationText).joined(separator: ",") }
}

/// An enumeration is written as its raw values.
extension ConfigurationValue where Self: CaseIterable & RawRepresentable, RawValue == String {
  /// What a text must be to be read.
  public static var expectation: String { "one of " + allCases.map(\.rawValue).joined(separator: ", ") }
  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) { self.init(rawValue: configurationText) }
  /// The value as it would be written.
  public var configurationText: String { rawValue }
}

extension StringProtocol {
  /// The text without blanks, tabs and line ends around it.
  var trimmingBlanks: String {
    let isBlank = { (character: Character) in character == " " || character == "\t" || character.isNewline }
    var rest = self[...]
    while let first = rest.first, isBlank(first) { rest = rest.dropFirst() }
    while let last = rest.last, isBlank(last) { rest = rest.dropLast() }
    return String(rest)
  }
}
