import AppleProvider
import AuthDomain
import AuthStore
import EventLoop
import Glibc
import JOSE
import JSON
import Logging
import OpenID
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import Telemetry
import TestSupport
import Testing
import Values

@testable import AuthAPI

/// The auth service before the sandbox's Apple, on the machine's own clock.
private struct AppleStory: Sendable {
  static let audience = "org.example.app"
  private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  private static let sealing = Base64.encode([UInt8](repeating: 7, count: 32))

  let sandbox: String
  let http: HTTPClient
  let channel: ClientChannel
  let instance: ServiceInstance
  let database: Database
  let credential: AppleCredential
  let loop: EventLoop

  var auth: ParleyAPI.AuthService.Client { .init(channel) }

  static func with(_ body: @escaping @Sendable (AppleStory) async throws -> Void) async throws {
    try await RunningSandbox.run { running in
      let (sandbox, http, caFile) = (running.url, running.http, running.caFile.path)
      try await TestDatabase.with { prepared in
        let url = try await prepared.prepare(AuthMigrations.schema, AuthMigrations.all)
        let key = try parsed(try await running.get("/sandbox/apple/credential").body)
        let (team, name, pem) = (key["teamId"]?.string ?? "", key["keyId"]?.string ?? "", key["privateKey"]?.string ?? "")
        let settings = try settings(url, sandbox, caFile, team, name, pem)
        let instance = try await ServiceInstance.start(AuthAPI.AuthService.self, settings: settings, log: silent)
        let serving = Task { try await instance.run() }
        let channel = ClientChannel(to: .host("127.0.0.1", port: instance.addresses.grpc?.port ?? 0), on: prepared.group)
        let database = try Database(DatabaseConfiguration(url), group: prepared.group, log: silent)
        await database.waitUntilReady()
        let result: Result<Void, any Error>
        do {
          let credential = try AppleCredential(teamID: team, keyID: name, privateKey: pem)
          result = .success(
            try await body(
              AppleStory(
                sandbox: sandbox, http: http, channel: channel, instance: instance, database: database, credential: credential,
                loop: prepared.group.loops[0])))
        } catch { result = .failure(error) }
        await channel.close()
        await database.shutDown()
        instance.stop()
        try await serving.value
        try result.get()
      }
    }
  }

  private static func settings(
    _ url: String, _ sandbox: String, _ caFile: String, _ team: String, _ name: String, _ pem: String
  ) throws -> Settings {
    let account: JSONObject = [
      "type": "service_account", "project_id": "p", "private_key_id": "k",
      "private_key": .string(try SigningKey.generate(.rs256).privatePEM()),
      "client_email": "broker@p.iam.gserviceaccount.com", "token_uri": .string("\(sandbox)/token"),
    ]
    let environment = [
      "LISTEN": "127.0.0.1:0", "LOOPS": "1", "DRAIN_TIMEOUT": "2s", "DATABASE_URL": url, "OIDC_CLIENT_IDS": "test",
      "GOOGLE_SA_JSON": JSONValue.object(account).description, "JWKS_URL": "\(sandbox)/google/certs",
      "OUTBOUND_CA_FILE": caFile, "KEY_ENCRYPTION_KEY": sealing,
      "APP_SETTINGS": #"{"default":{"apple":{"audiences":["\#(audience)"]}}}"#, "APPLE_TEAM_ID": team, "APPLE_KEY_ID": name,
      "APPLE_PRIVATE_KEY": pem, "APPLE_JWKS_URL": "\(sandbox)/auth/keys", "APPLE_TOKEN_URL": "\(sandbox)/auth/token",
      "APPLE_REVOKE_URL": "\(sandbox)/auth/revoke", "APPLE_TIMEOUT": "60s",
    ]
    return try Settings(
      service: "auth", keys: AuthAPI.AuthService.configuration + StandardKeys.all(database: true),
      environment: Dictionary(uniqueKeysWithValues: environment.map { ("PARLEY_AUTH_" + $0.key, $0.value) }))
  }

  // MARK: Steps

  func control(_ path: String, _ body: JSONObject) async throws -> [UInt8] {
    let request = HTTPRequest(
      .post, sandbox + path, headers: ["Content-Type": "application/json"], body: JSONValue.object(body).encoded())
    return try await http.send(request).body
  }

  func grants() async throws -> JSONValue {
    try parsed(try await http.send(HTTPRequest(.get, sandbox + "/sandbox/apple/grants")).body)
  }

  func signIn(_ name: String) async throws -> SignInWithAppleResponse {
    let nonce = try await auth.beginSignIn(.init(provider: .apple), options: .timeout(.seconds(60)))
    let made = try parsed(
      try await control(
        "/sandbox/apple/identity-token",
        ["aud": .string(Self.audience), "sub": .string(name), "nonce": .string(nonce.providerNonce)]))
    return try await auth.signInWithApple(
      .init(identityToken: made["token"]?.string ?? "", nonce: nonce.nonce, authorizationCode: made["code"]?.string),
      options: .timeout(.seconds(60)))
  }

  /// Posts what Apple would post.
  func deliver(_ body: [UInt8]) async throws -> String? {
    guard let address = instance.addresses.grpc else { return nil }
    return try await loop.perform { [loop] in
      let peer = try await HTTP2Peer.open(to: address, on: loop)
      defer { peer.close() }
      peer.send(.headers(1, HTTP2Peer.httpHeaders("POST", "/webhooks/apple/notifications")))
      peer.sendBody(1, body)
      return try await peer.response(1).value(":status")
    }
  }

  /// As the deletion of an account asks for it.
  func revokeGrants(of user: UserID) async throws -> Int {
    var endpoints = AppleTokenClient.Endpoints()
    endpoints.revoke = "\(sandbox)/auth/revoke"
    let clock = ProviderClock(now: { .now() }, unixSeconds: { Int64(time(nil)) }, random: { 0 }, sleep: { _ in })
    let tokens = AppleTokenClient(
      credential, endpoints: endpoints, timeout: .seconds(60), over: http, clock: clock, log: Self.silent)
    return try await AppleGrants(
      store: ProviderGrantStore(database), tokens: tokens, sealing: try SealingKeys(parsing: Self.sealing),
      lease: .seconds(60), log: Self.silent, metrics: PrometheusRegistry(),
      now: { Instant.now() }
    ).revokeGrants(of: user)
  }

  func profile(_ response: SignInWithAppleResponse) async -> String? {
    do throws(RPCError) {
      let options = CallOptions(
        metadata: ["authorization": "Bearer \(response.tokens?.accessToken ?? "")"], deadline: .after(.seconds(60)))
      _ = try await auth.getProfile(options: options)
      return nil
    } catch { return error.reason }
  }
}

@Suite("Apple, the sandbox and the auth service together", .serialized) struct AppleStoryTests {
  @Test("TN3194, AUTH-M9: a code becomes a grant, its revocation is repeated until it works, and withdrawn consent ends sessions")
  func story() async throws {
    try await AppleStory.with { story in
      let ana = try await story.signIn("000000.ana.0000")
      let ben = try await story.signIn("000000.ben.0000")
      try await eventually { try await story.grants()["refreshTokens"] == 2 }
      let user = try #require(UserID(ana.profile?.userID ?? ""))
      _ = try await story.control("/sandbox/faults", ["path": "/auth/revoke", "status": 503, "count": 2])
      // The service notes the token a moment after Apple has handed it out.
      try await eventually { (try? await story.revokeGrants(of: user)) == 1 }
      let grants = try await story.grants()
      #expect(grants["refreshTokens"] == 1 && grants["revocations"] == 1)

      for person in [ana, ben] { #expect(await story.profile(person) == nil) }
      let notice = try await story.control(
        "/sandbox/apple/notification",
        ["type": "consent-revoked", "aud": .string(AppleStory.audience), "sub": "000000.ana.0000", "jti": "n-1"])
      #expect(try await story.deliver(notice) == "200")
      try await eventually { await story.profile(ana) == "CONSENT_REVOKED" }
      #expect(await story.profile(ben) == nil)
      #expect(try await story.deliver(notice) == "200")
      #expect(try await story.deliver(Array(#"{"payload":"a.b.c"}"#.utf8)) == "401")
    }
  }
}
