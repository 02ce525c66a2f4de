/// What a cloud token may be used for.
public struct Capability: Sendable, Hashable {
  /// The name that callers ask for; the default one is ``CapabilityCatalogue/defaultName``.
  public let name: String
  /// The OAuth scopes of its tokens.
  public let scopes: [String]

  /// A capability.
  public init(name: String, scopes: [String]) {
    self.name = name
    self.scopes = scopes
  }

  /// The scopes as OAuth writes them: separated by one blank.
  public var scope: String { scopes.joined(separator: " ") }
}

/// The capabilities that the operator has set up.
public struct CapabilityCatalogue: Sendable, Hashable {
  /// What the audit calls the token for callers that name no capability.
  public static let defaultName = "default"

  /// What callers get that name none: one token for all that the app does.
  public let fallback: Capability
  private let named: [String: Capability]

  /// A catalogue of the default token, and of others by name.
  public init(defaultScopes: [String], named: [Capability] = []) {
    fallback = Capability(name: Self.defaultName, scopes: defaultScopes)
    self.named = Dictionary(named.map { ($0.name, $0) }) { first, _ in first }
  }

  /// The capability of that name; the default one for an absent or empty name; nil for an unknown one.
  public func capability(_ name: String?) -> Capability? {
    guard let name, !name.isEmpty else { return fallback }
    return named[name]
  }
}
