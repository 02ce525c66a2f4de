/// A service account of the sandbox's project, and what it may do.
struct CloudAccount: Sendable, Hashable {
  /// What an account may use.
  enum Role: Sendable, Hashable {
    /// Speech-to-Text.
    case speech
    /// Gemini.
    case gemini
    /// Tokens of the project's other accounts.
    case tokenCreator
  }

  private static let domain = "@parley-sandbox.iam.gserviceaccount.com"

  let email: String
  let roles: Set<Role>

  /// The broker's own. It may do all that the apps need, as the original broker's may.
  static let broker = CloudAccount(email: "parley-broker" + domain, roles: [.speech, .gemini, .tokenCreator])
  /// For the capability `speech`.
  static let speech = CloudAccount(email: "parley-speech" + domain, roles: [.speech])
  /// For the capability `gemini`.
  static let gemini = CloudAccount(email: "parley-gemini" + domain, roles: [.gemini])

  /// All there are.
  static let all = [broker, speech, gemini]

  /// The account of this address.
  static func named(_ email: String) -> CloudAccount? { all.first { $0.email == email } }

  /// A person or machine of another provider, admitted by the project's pool. It may become an account, and nothing else.
  static func federated(_ subject: String) -> CloudAccount {
    CloudAccount(email: "principal://sandbox/subject/\(subject)", roles: [.tokenCreator])
  }
}
