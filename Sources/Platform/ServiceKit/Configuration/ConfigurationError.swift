/// Why a process cannot start with the settings it was given: everything that is wrong, at once. Its exit code is 78.
///
/// No message holds the value of a secret key.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
  /// One thing that is wrong.
  public struct Problem: Sendable, Hashable, CustomStringConvertible {
    /// The dotted name of the key; nil for a variable that belongs to no key.
    public var key: String?
    /// The variable of the environment that would set it.
    public var variable: String
    /// Where the value was read, or nil when there was none.
    public var source: String?
    /// What is wrong and what was expected.
    public var message: String

    /// Describes a problem.
    public init(key: String?, variable: String, source: String? = nil, _ message: String) {
      self.key = key
      self.variable = variable
      self.source = source
      self.message = message
    }

    /// What it says.
    public var description: String {
      let subject = key.map { "\($0) (\(variable))" } ?? variable
      return "\(subject): \(message)" + (source.map { "; read from \($0)" } ?? "")
    }
  }

  /// Everything that is wrong, in the order of the keys.
  public let problems: [Problem]

  /// An error of at least one problem.
  public init(_ problems: [Problem]) {
    precondition(!problems.isEmpty, "an error has a problem")
    self.problems = problems
  }

  /// What it says.
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}
