/// What a cloud token may be used for.
public struct Capability: Sendable, Hashable {
  /// The name that callers ask for; the default one is ``CapabilityCatalogue/defaultName``.
  public let name: String
  /// The OAuth scopes of its tokens.
  public let scopes: [String]
  /// The service account that is impersonated for it; nil for the default one, whose tokens are those of the broker's own.
  public let account: String?
  /// How many of its tokens a person may have on a day (UTC); nil for any number.
  public let perDay: Int?

  /// A capability.
  public init(name: String, scopes: [String], account: String? = nil, perDay: Int? = nil) {
    self.name = name
    self.scopes = scopes
    self.account = account
    self.perDay = perDay
  }

  /// Whether a text can be the name of a capability other than the default one: a lower-case letter, then up to 31 such letters,
  /// digits and hyphens.
  public static func isName(_ text: String) -> Bool {
    text != CapabilityCatalogue.defaultName && (1...32).contains(text.utf8.count)
      && text.utf8.first.map { (0x61...0x7a).contains($0) } == true
      && text.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d }
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
  public init(defaultScopes: [String], defaultPerDay: Int? = nil, named: [Capability] = []) {
    fallback = Capability(name: Self.defaultName, scopes: defaultScopes, perDay: defaultPerDay)
    self.named = Dictionary(named.map { ($0.name, $0) }) { first, _ in first }
  }

  /// What the operator can stop: every capability by its name, the default one too.
  public var names: Set<String> { Set(named.keys).union([Self.defaultName]) }

  /// The capability of that name; the default one for an absent or empty name; nil for an unknown one.
  public func capability(_ name: String?) -> Capability? {
    guard let name, !name.isEmpty else { return fallback }
    return named[name]
  }
}
