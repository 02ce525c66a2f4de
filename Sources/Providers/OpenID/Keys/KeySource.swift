/// Where a provider's keys are found.
public enum KeySource: Sendable, Hashable {
  /// The key set itself.
  case keySet(url: String)
  /// An OpenID discovery document that names the key set. Its `issuer` must be the one that tokens are checked for.
  case discovery(url: String, issuer: String)

  /// The host that is asked, with its port where the address names one.
  var host: String {
    switch self {
    case .keySet(let url), .discovery(let url, _):
      url.split(separator: "/", omittingEmptySubsequences: true).dropFirst().first.map(String.init) ?? url
    }
  }
}

/// When keys are fetched.
public struct KeyPolicy: Sendable, Hashable {
  /// The least time between two fetches that tokens with unknown keys cause.
  public var cooldown = Duration.seconds(30)
  /// How old keys may become while their server is away.
  public var maximumAge = Duration.seconds(24 * 3600)
  /// How long one fetch may take.
  public var timeout = Duration.seconds(5)

  /// The defaults: 30 s, 24 h, 5 s.
  public init() {}
}

/// Why there are no keys.
public struct KeysError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure; new kinds may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The word that stands for the kind in logs.
    public let description: String

    /// They could not be fetched, and there are none from before that may still be used.
    public static let unavailable = Code(description: "keys_unavailable")
    /// Nobody waits for them any more.
    public static let cancelled = Code(description: "cancelled")
  }

  /// The kind of failure.
  public let code: Code
  /// What the last fetch ran into, safe to log.
  public let detail: String

  init(_ code: Code, detail: String = "") {
    self.code = code
    self.detail = detail
  }

  /// Kind and detail.
  public var description: String { detail.isEmpty ? code.description : "\(code): \(detail)" }
}
