import JOSE
import JSON

/// A service account with a key of its own.
struct ServiceAccount: Sendable {
  /// The address that assertions name as their issuer.
  let email = CloudAccount.broker.email
  /// The key that assertions are signed with.
  let key: SigningKey
  private let pem: String

  /// An account with a fresh key.
  init() throws {
    key = try .generate(.rs256)
    pem = try key.privatePEM()
  }

  /// The key file as Google's console hands it out.
  func document(tokenURI: String) -> [UInt8] {
    let document: JSONValue = [
      "type": "service_account", "project_id": "parley-sandbox", "private_key_id": .string(key.keyID),
      "private_key": .string(pem), "client_email": .string(email), "client_id": "100000000000000000001",
      "token_uri": .string(tokenURI), "universe_domain": "googleapis.com",
    ]
    return document.encoded()
  }
}
