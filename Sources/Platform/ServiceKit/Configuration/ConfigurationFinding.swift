/// What a check of settings that are each valid found about them together.
public struct ConfigurationFinding: Sendable, Hashable {
  /// How bad it is.
  public enum Severity: String, Sendable, Hashable {
    /// The process does not start.
    case error
    /// It starts; an operator should know.
    case warning
  }

  /// How bad it is.
  public let severity: Severity
  /// The dotted name of the key that should change.
  public let key: String
  /// What is the matter, without a secret.
  public let message: String

  /// Something that keeps the process from starting.
  public static func error(_ key: any ConfigurationKeyDeclaration, _ message: String) -> ConfigurationFinding {
    .init(severity: .error, key: key.name, message: message)
  }

  /// Something that an operator should know.
  public static func warning(_ key: any ConfigurationKeyDeclaration, _ message: String) -> ConfigurationFinding {
    .init(severity: .warning, key: key.name, message: message)
  }
}
