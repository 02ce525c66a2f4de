import Foundation
import JSON

/// The broker's tokens in a store: one document for all capabilities.
struct CloudTokenShelf: Sendable {
  static let name = "cloud-tokens"
  let store: any TokenStore

  /// The tokens by capability; none when the entry is not there or not readable.
  func load() async -> [String: CloudToken] {
    guard let bytes = try? await store.load(Self.name), let json = try? JSONParser.parse(bytes), let members = json.object else {
      return [:]
    }
    var tokens: [String: CloudToken] = [:]
    for member in members {
      guard let value = member.value["access_token"]?.string, let type = member.value["token_type"]?.string,
        let expiry = member.value["expires_at"]?.number?.double
      else { continue }
      tokens[member.name] = CloudToken(value: value, type: type, expiresAt: Date(timeIntervalSince1970: expiry))
    }
    return tokens
  }

  /// Writes them; removes the entry when there are none.
  func save(_ tokens: [String: CloudToken]) async {
    guard !tokens.isEmpty else {
      try? await store.remove(Self.name)
      return
    }
    let members = tokens.sorted { $0.key < $1.key }.map { name, token -> (String, JSONValue) in
      let expiry = JSONNumber(token.expiresAt.timeIntervalSince1970).map(JSONValue.number) ?? 0
      return (name, ["access_token": .string(token.value), "token_type": .string(token.type), "expires_at": expiry])
    }
    try? await store.save(JSONValue.object(JSONObject(members)).encoded(), as: Self.name)
  }
}
