import EventLoop
import JOSE
import JSON
import OpenID
import Outbound
import Synchronization

/// Apple as far as the provider knows it: keys that sign, and endpoints that answer what a test tells them to.
final class FakeApple: HTTPSending {
  /// How an endpoint answers.
  enum Answer: Sendable {
    case status(Int, String = "")
    case failure(OutboundError.Code)
  }

  struct State {
    /// Served instead of the keys.
    var document: [UInt8]?
    var keys = [FakeApple.key.publicKey, FakeApple.curveKey.publicKey]
    var keyStatus = 200
    var keyLifetime = 3600
    var keyFetches = 0
    var urls: [String] = []
    var forms: [String] = []
    /// What the token endpoints answer, one after the other; the last one again and again.
    var answers: [Answer] = [.status(200, "{}")]
  }

  static let bundleID = "org.example.app"
  static let key = makeKey(.rs256, "apple-1")
  static let nextKey = makeKey(.rs256, "apple-2")
  /// Of the same name as Apple's, and somebody else's.
  static let impostor = makeKey(.rs256, "apple-1")
  /// In Apple's set, for another algorithm.
  static let curveKey = makeKey(.es256, "apple-ec")

  let state = Mutex(State())

  static func makeKey(_ algorithm: SignatureAlgorithm, _ id: String) -> SigningKey {
    do { return try SigningKey.generate(algorithm, keyID: id) } catch { preconditionFailure("no test key: \(error)") }
  }

  static func claims(at now: Int64 = FakeGoogle.now, _ changes: [(String, JSONValue?)] = []) -> JSONObject {
    var claims: JSONObject = [
      "iss": "https://appleid.apple.com", "aud": .string(bundleID), "sub": "000000.0123456789abcdef0123456789abcdef.0000",
      "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 86_400)), "nonce": "n-1", "nonce_supported": true,
      "email": "ana@example.org", "email_verified": "true",
    ]
    for (name, value) in changes { claims[name] = value }
    return claims
  }

  static func token(at now: Int64 = FakeGoogle.now, key: SigningKey = key, changes: [(String, JSONValue?)] = []) -> String {
    (try? key.sign(claims: claims(at: now, changes))) ?? ""
  }

  func set(_ change: @Sendable (inout State) -> Void) { state.withLock { change(&$0) } }
  var forms: [String] { state.withLock { $0.forms } }
  var keyFetches: Int { state.withLock { $0.keyFetches } }
  var urls: [String] { state.withLock { $0.urls } }

  func send(_ request: HTTPRequest) async throws(OutboundError) -> HTTPResponse {
    let answer: Answer = state.withLock { state in
      state.urls.append(request.url)
      guard request.method == .post else {
        state.keyFetches += 1
        return .status(state.keyStatus)
      }
      state.forms.append(String(decoding: request.body ?? [], as: UTF8.self))
      return state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
    }
    switch answer {
    case .failure(let code): throw OutboundError(code, "told to fail")
    case .status(let status, let text):
      guard request.method == .get, status == 200 else { return HTTPResponse(status: status, body: Array(text.utf8)) }
      return state.withLock { state in
        HTTPResponse(
          status: 200, headers: ["Cache-Control": "max-age=\(state.keyLifetime)"],
          body: state.document ?? JWKSet(state.keys).encoded())
      }
    }
  }
}
