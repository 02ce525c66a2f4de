import JSON

/// What of Google's behaviour can be changed while the sandbox runs.
struct GoogleSettings: Sendable, Equatable {
  /// The `expires_in` of access tokens, in seconds.
  var tokenLifetime = 3599
  /// The `max-age` of the public keys, in seconds.
  var certsMaxAge = 3600

  /// The settings as they are shown.
  var json: JSONValue {
    ["tokenLifetime": .number(JSONNumber(tokenLifetime)), "certsMaxAge": .number(JSONNumber(certsMaxAge))]
  }
}
