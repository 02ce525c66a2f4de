import Foundation
import JSON
import ParleyAPI
import WellKnown

/// A session as it stands in the store. What it holds is enough to go on after a crash at any moment.
struct StoredSession: Sendable, Hashable {
  var sessionID: String
  var userID: String
  var accessToken: String
  var accessExpiresAt: Date
  /// When the access token is to be replaced, before it runs out.
  var refreshAt: Date
  var refreshToken: String
  /// What the exchange of `refreshToken` that is under way, or whose answer was lost, is known by at the server.
  var attempt: String?

  /// A session that has just begun or been refreshed.
  ///
  /// - Parameters:
  ///   - begun: When the call was made: the token's life is counted from there.
  ///   - margin: How long before its end the access token is replaced; at most half of its life.
  init(_ tokens: SessionTokens, userID: String, begun: Date, margin: Duration) {
    sessionID = tokens.sessionID
    self.userID = userID
    accessToken = tokens.accessToken
    let life = Duration.seconds(max(0, tokens.expiresIn?.seconds ?? 0))
    accessExpiresAt = begun.advanced(by: life)
    refreshAt = begun.advanced(by: life - min(margin, life / 2))
    refreshToken = tokens.refreshToken
    attempt = nil
  }

  /// Reads what ``bytes`` wrote; nil for anything else.
  init?(_ bytes: [UInt8]) {
    guard let json = try? JSONParser.parse(bytes), let sessionID = json["session_id"]?.string,
      let userID = json["user_id"]?.string, let accessToken = json["access_token"]?.string,
      let accessExpiresAt = json["access_expires_at"]?.number?.double, let refreshAt = json["refresh_at"]?.number?.double,
      let refreshToken = json["refresh_token"]?.string
    else { return nil }
    self.sessionID = sessionID
    self.userID = userID
    self.accessToken = accessToken
    self.accessExpiresAt = Date(timeIntervalSince1970: accessExpiresAt)
    self.refreshAt = Date(timeIntervalSince1970: refreshAt)
    self.refreshToken = refreshToken
    attempt = json["attempt"]?.string
  }

  var bytes: [UInt8] {
    func time(_ date: Date) -> JSONValue { JSONNumber(date.timeIntervalSince1970).map(JSONValue.number) ?? 0 }
    var object: JSONObject = [
      "session_id": .string(sessionID), "user_id": .string(userID), "access_token": .string(accessToken),
      "access_expires_at": time(accessExpiresAt), "refresh_at": time(refreshAt), "refresh_token": .string(refreshToken),
    ]
    object["attempt"] = attempt.map(JSONValue.string)
    return JSONValue.object(object).encoded()
  }
}
