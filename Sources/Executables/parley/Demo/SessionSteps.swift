import EventLoop
import JSON
import Outbound
import ParleyAPI
import RPC
import WellKnown

/// People who sign in, stay signed in and are signed out, and a cloud token that does one thing only.
enum SessionSteps {
  static let all = [
    DemoStep("sign-in with Google") { stage in
      let tokens = try await signIn(stage, "gina")
      let profile = try await auth(stage).getProfile(options: stage.options(tokens.accessToken)).profile
      return "\(profile?.name ?? "?"), session \(tokens.sessionID.prefix(8)), access for \(tokens.expiresIn?.seconds ?? 0) s"
    },
    DemoStep("sign-in with Apple") { try await appleSignIn($0) },
    DemoStep("refresh at another copy") { try await refresh($0) },
    DemoStep("revoked at another copy") { try await revoke($0) },
    DemoStep("token for speech alone") { try await speech($0) },
  ]

  static func auth(_ stage: DemoStage, at copy: Int = 0) -> AuthService.Client {
    .init(stage.copies[copy % stage.copies.count])
  }

  /// How somebody calls who has no token yet.
  static func stranger(_ stage: DemoStage) -> CallOptions {
    CallOptions(metadata: ["x-forwarded-for": stage.address], deadline: .after(.seconds(10)))
  }

  static func signIn(_ stage: DemoStage, _ person: String) async throws -> SessionTokens {
    let nonce = try await auth(stage).beginSignIn(.init(provider: .google), options: stranger(stage))
    let token = try await stage.idToken(
      of: person, ["nonce": .string(nonce.providerNonce), "claims": ["given_name": .string(person)]])
    let answer = try await auth(stage).signInWithGoogle(.init(idToken: token, nonce: nonce.nonce), options: stranger(stage))
    guard let tokens = answer.tokens else { throw StepFailure(expected: "tokens", came: "none") }
    // One exchange for each token, and one sign-in for each nonce.
    let error = try await refusal {
      _ = try await auth(stage, at: 1).signInWithGoogle(.init(idToken: token, nonce: nonce.nonce), options: stranger(stage))
    }
    guard error?.reason == "ID_TOKEN_REPLAYED" else {
      throw StepFailure(expected: "ID_TOKEN_REPLAYED", came: error.map { "\($0)" } ?? "a session")
    }
    return tokens
  }

  private static func appleSignIn(_ stage: DemoStage) async throws -> String {
    let nonce = try await auth(stage).beginSignIn(.init(provider: .apple), options: stranger(stage))
    let token = try await stage.sandbox.idToken(
      [
        "aud": .string(appleAudience), "sub": .string(stage.subject("adam")), "nonce": .string(nonce.providerNonce),
        "email": .string("adam-\(stage.run)@example.org"),
      ], of: .apple)
    let answer = try await auth(stage).signInWithApple(
      .init(identityToken: token, nonce: nonce.nonce, fullName: .init(givenName: "Adam")), options: stranger(stage))
    guard let profile = answer.profile, profile.name == "Adam", answer.isNewAccount else {
      throw StepFailure(expected: "a new account of Adam", came: answer.profile?.name ?? "none")
    }
    return "\(profile.name), nonce as its SHA-256, new account \(profile.userID.prefix(8))"
  }

  /// What `deploy/local/services.sh` gives the demo's app.
  private static let appleAudience = "org.parley.demo"

  private static func refresh(_ stage: DemoStage) async throws -> String {
    let first = try await signIn(stage, "rita")
    let request = RefreshSessionRequest(refreshToken: first.refreshToken, attempt: "attempt-of-the-run-\(stage.run)")
    let answer = try await auth(stage, at: 1).refreshSession(request, options: stranger(stage)).tokens
    // Whoever has lost the answer gets it again; somebody with a copy of the token gets nothing.
    let again = try await auth(stage).refreshSession(request, options: stranger(stage)).tokens
    guard let answer, answer.refreshToken == again?.refreshToken else {
      throw StepFailure(expected: "the same refresh token for the same attempt", came: "another")
    }
    let copy = RefreshSessionRequest(refreshToken: first.refreshToken, attempt: "of-somebody-else")
    let raced = try await refusal { _ = try await auth(stage).refreshSession(copy, options: stranger(stage)) }
    _ = try await auth(stage).refreshSession(.init(refreshToken: answer.refreshToken), options: stranger(stage))
    let reused = try await refusal { _ = try await auth(stage).refreshSession(copy, options: stranger(stage)) }
    guard raced?.reason == "REFRESH_RACED", reused?.reason == "REFRESH_REUSED" else {
      throw StepFailure(
        expected: "REFRESH_RACED, then REFRESH_REUSED", came: "\(raced?.reason ?? "tokens"), \(reused?.reason ?? "tokens")")
    }
    return "lost answer told again; a copied token: \(raced?.reason ?? ""), then \(reused?.reason ?? "") ends the session"
  }

  private static func revoke(_ stage: DemoStage) async throws -> String {
    let (phone, tablet) = (try await signIn(stage, "rosa"), try await signIn(stage, "rosa"))
    let there = auth(stage, at: 1)
    _ = try await there.getProfile(options: stage.options(tablet.accessToken))
    _ = try await auth(stage).revokeSession(
      .init(sessionID: tablet.sessionID), options: stage.options(phone.accessToken))
    let started = MonotonicInstant.now()
    var error: RPCError?
    while error == nil {
      error = try await refusal { _ = try await there.getProfile(options: stage.options(tablet.accessToken)) }
      guard MonotonicInstant.now().duration(since: started) < .seconds(5) else { break }
      if error == nil { try await Task.sleep(for: .milliseconds(50)) }
    }
    guard let error, error.reason == "SESSION_REVOKED" else {
      throw StepFailure(expected: "SESSION_REVOKED within 5 s", came: error.map { "\($0)" } ?? "a profile")
    }
    _ = try await there.getProfile(options: stage.options(phone.accessToken))
    return
      "\(error.code.name) SESSION_REVOKED after \(Int(MonotonicInstant.now().duration(since: started) / .milliseconds(1))) ms"
  }

  private static func speech(_ stage: DemoStage) async throws -> String {
    let token = try await stage.idToken(of: "speaker")
    let cloud = try await stage.broker.exchangeToken(.init(capability: "speech"), options: stage.options(token))
    let speech: JSONObject = ["config": ["languageCode": "en-US"], "audio": ["content": "UklGRg=="]]
    let heard = try await post(stage, "/v1/speech:recognize", speech, cloud.accessToken)
    let text: JSONObject = ["contents": [["role": "user", "parts": [["text": "hello"]]]]]
    let refused = try await post(stage, "/v1beta/models/gemini-2.0-flash:generateContent", text, cloud.accessToken)
    guard heard.status == 200, refused.status == 403 else {
      throw StepFailure(expected: "200 of speech, 403 of Gemini", came: "\(heard.status), \(refused.status)")
    }
    return "for \(cloud.expiresIn) s: Speech-to-Text 200, Gemini 403"
  }

  private static func post(
    _ stage: DemoStage, _ path: String, _ body: JSONObject, _ token: String
  ) async throws -> HTTPResponse {
    try await stage.outside.http.send(
      HTTPRequest(
        .post, stage.places.sandbox + path,
        headers: ["Content-Type": "application/json", "Authorization": "Bearer \(token)"],
        body: JSONValue.object(body).encoded()))
  }
}
