internal import JOSE
internal import JSON

/// The key with which a developer team proves itself to Apple, and its names.
public struct AppleCredential: Sendable {
  /// Why a key cannot be used.
  public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    /// What an operator has to change; nothing of the key.
    public let description: String
  }

  /// How long a client secret lives, in seconds. Apple allows six months; each is used at once.
  static let secretLifetime: Int64 = 300

  /// The developer team: ten capital letters and digits.
  public let teamID: String
  private let key: SigningKey

  /// A credential.
  ///
  /// - Parameters:
  ///   - teamID: The team's identifier.
  ///   - keyID: The key's identifier, as Apple's console shows it.
  ///   - privateKey: The text of the `.p8` file: a P-256 key in PEM.
  public init(teamID: String, keyID: String, privateKey: String) throws(Fault) {
    for (name, text) in [("team id", teamID), ("key id", keyID)] where !Self.isIdentifier(text) {
      throw Fault(description: "the \(name) is not ten capital letters and digits")
    }
    do { key = try SigningKey(pem: privateKey, keyID: keyID) } catch {
      throw Fault(description: "the private key cannot be used: \(error)")
    }
    guard key.algorithm == .es256 else { throw Fault(description: "the private key is not one on P-256") }
    self.teamID = teamID
  }

  /// Whether a text may be a team's or a key's identifier.
  public static func isIdentifier(_ text: String) -> Bool {
    text.utf8.count == 10 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) }
  }

  /// What one client of the team shows at Apple's endpoints.
  func clientSecret(for clientID: String, audience: String, now: Int64) throws(KeyError) -> String {
    try key.sign(claims: [
      "iss": .string(teamID), "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + Self.secretLifetime)),
      "aud": .string(audience), "sub": .string(clientID),
    ])
  }
}

/// Never shows the key.
extension AppleCredential: CustomStringConvertible, CustomReflectable {
  /// The team and the key's name.
  public var description: String { "AppleCredential(\(teamID), \(key.keyID))" }
  /// The team and the key's name.
  public var customMirror: Mirror { Mirror(self, children: ["teamID": teamID, "keyID": key.keyID]) }
}
