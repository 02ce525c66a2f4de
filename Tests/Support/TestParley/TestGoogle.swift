internal import EventLoop
internal import HTTP2
internal import JOSE
internal import JSON
internal import RPCServer

/// Google as far as a sign-in knows it: a key set that is served over TLS, and ID tokens signed with its key.
struct TestGoogle: Sendable {
  /// The client id of the apps.
  static let audience = "test"

  /// One for all of a process's: to make it takes longer than much that is done with it.
  private static let key = Result { try SigningKey.generate(.rs256, keyID: "google") }

  private let key: SigningKey
  private let server: RPCServer
  /// Where the key set is.
  let keySetURL: String
  /// Where the broker's service account gets its tokens.
  let tokenURL: String

  init(on loops: EventLoopGroup, _ tls: TLSContext) throws {
    let key = try Self.key.get()
    let keys = JWKSet([key.publicKey]).encoded()
    server = RPCServer(
      on: loops, services: [],
      http: [
        HTTPRoute("/certs") { _ in
          HTTPServerResponse(
            200, headers: [("content-type", "application/json"), ("cache-control", "public, max-age=3600")], body: keys)
        },
        HTTPRoute("/token") { _ in
          .json(200, Array(#"{"access_token": "ya29.test", "token_type": "Bearer", "expires_in": 3599}"#.utf8))
        },
      ])
    let base = "https://127.0.0.1:\(try server.listen(on: SocketAddress("127.0.0.1:0"), tls: tls).port ?? 0)"
    (keySetURL, tokenURL) = (base + "/certs", base + "/token")
    self.key = key
  }

  /// The ID token of somebody who has just proved who they are.
  func token(_ name: String, nonce: String, at now: Int64) throws -> String {
    let claims: JSONObject = [
      "iss": "https://accounts.google.com", "aud": .string(Self.audience), "sub": .string("google-\(name)"),
      "email": .string("\(name)@example.org"), "email_verified": true, "given_name": .string(name), "nonce": .string(nonce),
      "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 3600)),
    ]
    return try key.sign(header: [:], claims: claims)
  }

  func stop() async { await server.drain(within: .zero) }
}
