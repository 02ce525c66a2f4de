internal import JOSE
internal import JSON
internal import OpenID

/// The key file of a service account.
public struct ServiceAccountKey: Sendable, CustomStringConvertible, CustomReflectable {
  /// Where Google's service accounts get their tokens.
  public static let defaultTokenURI = "https://oauth2.googleapis.com/token"

  /// The account's name.
  public let clientEmail: String
  /// Where its tokens come from.
  public let tokenURI: String
  let signingKey: SigningKey

  /// Reads a key file.
  ///
  /// - Throws: ``ServiceAccountKeyError``, naming the member that is wrong; nothing of the file is in it.
  public init(json: String) throws(ServiceAccountKeyError) {
    guard let object = try? JSONParser.parse(json).object else { throw ServiceAccountKeyError("it is not a JSON object") }
    func member(_ name: String) throws(ServiceAccountKeyError) -> String {
      guard let value = object[name] else { throw ServiceAccountKeyError("\(name) is missing") }
      guard let text = value.string, !text.trimmed.isEmpty else {
        throw ServiceAccountKeyError("\(name) is not a text, or empty")
      }
      return text
    }
    guard try member("type") == "service_account" else {
      throw ServiceAccountKeyError("type is not service_account: it is the key of something else")
    }
    clientEmail = try member("client_email")
    guard clientEmail.contains("@") else { throw ServiceAccountKeyError("client_email is no e-mail address") }
    let keyID = try member("private_key_id")
    let pem = try member("private_key")
    tokenURI = object["token_uri"] == nil ? Self.defaultTokenURI : try member("token_uri")
    let key: SigningKey
    do { key = try SigningKey(pem: pem, keyID: keyID) } catch {
      throw ServiceAccountKeyError("private_key cannot be used: \(error)")
    }
    guard key.algorithm == .rs256 else { throw ServiceAccountKeyError("private_key is no RSA key") }
    signingKey = key
  }

  /// The account's name.
  public var description: String { clientEmail }
  /// The account's name.
  public var customMirror: Mirror { Mirror(self, children: ["clientEmail": clientEmail]) }
}

/// What is wrong with a key file.
public struct ServiceAccountKeyError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, for the operator.
  public let description: String

  init(_ description: String) { self.description = description }
}
