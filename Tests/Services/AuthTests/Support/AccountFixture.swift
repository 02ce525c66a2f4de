import AuthDomain
import JOSE
import JSON
import ParleyAPI
import RPC
import ServiceKit
import Values

/// What the tests of sign-in and sessions do with a running service.
extension BrokerFixture {
  static let bundleID = "com.example.app"
  static let appleAudience = ["PARLEY_AUTH_APP_SETTINGS": #"{"default":{"apple":{"audiences":["\#(bundleID)"]}}}"#]

  var auth: ParleyAPI.AuthService.Client { ParleyAPI.AuthService.Client(channel) }

  var now: Instant { Instant(seconds: 0).advanced(by: clock.wall) }

  func from(_ address: String = "192.0.2.1", _ access: String? = nil) -> CallOptions {
    var metadata: Metadata = ["x-forwarded-for": address]
    if let access { metadata["authorization"] = "Bearer \(access)" }
    return CallOptions(metadata: metadata, deadline: .after(.seconds(60)))
  }

  func nonce(_ provider: ParleyAPI.IdentityProvider = .google) async throws(RPCError) -> BeginSignInResponse {
    try await auth.beginSignIn(.init(provider: provider), options: from())
  }

  func googleToken(_ user: String = "ana", nonce: String?, _ changes: [(String, JSONValue?)] = []) -> String {
    FakeGoogle.token(
      user, at: clock.wall.components.seconds, changes: [("nonce", nonce.map { .string($0) })] + changes)
  }

  func appleToken(_ user: String = "ana", nonce: String?, _ changes: [(String, JSONValue?)] = []) throws -> String {
    let now = clock.wall.components.seconds
    var claims: JSONObject = [
      "iss": "https://appleid.apple.com", "aud": .string(Self.bundleID), "sub": .string("000.\(user).1"),
      "email": .string("\(user)@example.org"), "email_verified": "true", "nonce_supported": true,
      "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 600)), "auth_time": .number(JSONNumber(now)),
    ]
    claims["nonce"] = nonce.map { .string($0) }
    for (name, value) in changes { claims[name] = value }
    return try FakeGoogle.key.sign(header: [:], claims: claims)
  }

  /// Signs in with Google from a new device.
  func signIn(
    _ user: String = "ana", device: String = "phone", from address: String = "192.0.2.1"
  ) async throws(RPCError) -> SignInWithGoogleResponse {
    let nonce = try await nonce()
    return try await auth.signInWithGoogle(
      .init(idToken: googleToken(user, nonce: nonce.providerNonce), nonce: nonce.nonce, device: .init(name: device)),
      options: from(address))
  }

  func refresh(
    _ token: String, attempt: String = "", from address: String = "192.0.2.1"
  ) async throws(RPCError) -> SessionTokens {
    let response = try await auth.refreshSession(.init(refreshToken: token, attempt: attempt), options: from(address))
    return response.tokens ?? .init()
  }
}

extension Result where Failure == RPCError {
  /// The code and the reason of a refusal; `OK` otherwise.
  var ending: String {
    switch self {
    case .success: "OK"
    case .failure(let error): "\(error.code.name) \(error.reason ?? "")"
    }
  }
}

/// How a call ends: `OK`, or code and reason.
func ending<Value>(_ call: () async throws(RPCError) -> Value) async -> String {
  let result: Result<Value, RPCError>
  do throws(RPCError) { result = .success(try await call()) } catch { result = .failure(error) }
  return result.ending
}
