import EventLoop
import JSON
import Outbound
import ParleyAPI
import RPC
import WellKnown

/// People who sign in, stay signed in and are signed out, and cloud tokens that do one thing only.
enum SessionSteps {
  static let all = [
    DemoStep("sign-in with Google") { stage in
      let tokens = try await signIn(stage, "gina")
      let profile = try await auth(stage).getProfile(options: stage.options(tokens.accessToken)).profile
      return "\(profile?.name ?? "?"), session \(tokens.sessionID.prefix(8)), access for \(tokens.expiresIn?.seconds ?? 0) s"
    },
    DemoStep("sign-in with Apple") { try await appleSignIn($0) },
    DemoStep("consent withdrawn at Apple") { try await withdrawn($0) },
    DemoStep("refresh at another copy") { try await refresh($0) },
    DemoStep("revoked at another service") { try await revoke($0) },
    DemoStep("tokens for speech and Gemini") { try await capabilities($0) },
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
    let answer = try await appleSignIn(stage, "Adam")
    guard let profile = answer.profile, profile.name == "Adam", answer.isNewAccount else {
      throw StepFailure(expected: "a new account of Adam", came: answer.profile?.name ?? "none")
    }
    return "\(profile.name), nonce as its SHA-256, new account \(profile.userID.prefix(8))"
  }

  private static func appleSignIn(_ stage: DemoStage, _ name: String) async throws -> SignInWithAppleResponse {
    let nonce = try await auth(stage).beginSignIn(.init(provider: .apple), options: stranger(stage))
    let token = try await stage.sandbox.idToken(
      [
        "aud": .string(appleAudience), "sub": .string(stage.subject(name)), "nonce": .string(nonce.providerNonce),
        "email": .string("\(name)-\(stage.run)@example.org"),
      ], of: .apple)
    return try await auth(stage).signInWithApple(
      .init(identityToken: token, nonce: nonce.nonce, fullName: .init(givenName: name)), options: stranger(stage))
  }

  /// The person takes the app's access back in Apple's settings, and Apple tells us.
  private static func withdrawn(_ stage: DemoStage) async throws -> String {
    let tokens = try await appleSignIn(stage, "Willa").tokens ?? .init()
    let notice = try await stage.sandbox.appleNotification([
      "type": "consent-revoked", "aud": .string(appleAudience), "sub": .string(stage.subject("Willa")),
    ])
    let posted = try await stage.outside.http.send(
      HTTPRequest(
        .post, stage.places.edgeHTTPS + "/webhooks/apple/notifications", headers: ["Content-Type": "application/json"],
        body: notice))
    guard posted.status == 200 else { throw StepFailure(expected: "200", came: "\(posted.status)") }
    let error = try await refusal {
      _ = try await auth(stage).refreshSession(.init(refreshToken: tokens.refreshToken), options: stranger(stage))
    }
    guard let error, error.reason == "CONSENT_REVOKED" else {
      throw StepFailure(expected: "CONSENT_REVOKED", came: error.map { "\($0)" } ?? "tokens")
    }
    return "Apple's notification taken, \(error.code.name) CONSENT_REVOKED"
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

  /// The tablet is known to a service that is not the one that signed it in, until the phone ends its session.
  private static func revoke(_ stage: DemoStage) async throws -> String {
    let (phone, tablet) = (try await signIn(stage, "rosa"), try await signIn(stage, "rosa"))
    guard try await guarded(stage, tablet.accessToken).status == 200 else {
      throw StepFailure(expected: "the second service to know the tablet", came: "a refusal")
    }
    _ = try await auth(stage, at: 1).revokeSession(
      .init(sessionID: tablet.sessionID), options: stage.options(phone.accessToken))
    let started = MonotonicInstant.now()
    var answer = try await guarded(stage, tablet.accessToken)
    while answer.status == 200, MonotonicInstant.now().duration(since: started) < .seconds(5) {
      try await Task.sleep(for: .milliseconds(50))
      answer = try await guarded(stage, tablet.accessToken)
    }
    let milliseconds = Int(MonotonicInstant.now().duration(since: started) / .milliseconds(1))
    guard answer.status == 401, answer.text?.contains("SESSION_REVOKED") == true else {
      throw StepFailure(expected: "401 SESSION_REVOKED within 5 s", came: "\(answer.status) \(answer.text ?? "")")
    }
    guard try await guarded(stage, phone.accessToken).status == 200 else {
      throw StepFailure(expected: "the phone to stay signed in", came: "a refusal")
    }
    return "the tablet is refused with SESSION_REVOKED after \(milliseconds) ms, the phone stays"
  }

  /// What the second service says to whoever shows this token, by Connect.
  private static func guarded(_ stage: DemoStage, _ token: String) async throws -> HTTPResponse {
    try await stage.outside.http.send(
      HTTPRequest(
        .post, stage.places.second + "/parley.testing.v1.EchoService/Guarded",
        headers: ["Content-Type": "application/json", "Authorization": "Bearer \(token)"], body: Array("{}".utf8)))
  }

  /// Each capability is an account of its own, so what opens one door is refused at the other.
  private static func capabilities(_ stage: DemoStage) async throws -> String {
    let person = try await stage.idToken(of: "speaker")
    var lifetimes: [String] = []
    for (capability, expected) in [("speech", (200, 403)), ("gemini", (403, 200))] {
      let cloud = try await stage.broker.exchangeToken(.init(capability: capability), options: stage.options(person))
      let speech: JSONObject = ["config": ["languageCode": "en-US"], "audio": ["content": "UklGRg=="]]
      let heard = try await post(stage, "/v1/speech:recognize", speech, cloud.accessToken)
      let text: JSONObject = ["contents": [["role": "user", "parts": [["text": "hello"]]]]]
      let said = try await post(stage, "/v1beta/models/gemini-2.0-flash:generateContent", text, cloud.accessToken)
      guard (heard.status, said.status) == expected else {
        throw StepFailure(
          expected: "\(expected.0) of Speech-to-Text and \(expected.1) of Gemini for \(capability)",
          came: "\(heard.status) and \(said.status)")
      }
      lifetimes.append("\(capability) for \(cloud.expiresIn) s")
    }
    return lifetimes.joined(separator: ", ") + ": each opens its own endpoint (200) and not the other's (403)"
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
