import EventLoop
import JOSE
import JSON
import Outbound
import ParleyAPI
import RPC
import RPCClient
import ServiceKit
import TestSupport
import Testing
import WellKnown

/// What was found in proxies and services that believe too much of what a request says about itself, tried on the running service.
@Suite("Published flaws of other systems: what a request says of itself", .serialized)
struct ProxyFlawTests {
  /// Paths that need a credential, and one that does not.
  private static let (closed, open) = ("/token", "/healthz")

  @Test("GHSA-7x63-xv5r-3p2x: a header that names another path opens nothing, though a trusted proxy sends it")
  func forwardedPath() async throws {
    try await BrokerTests.withBroker { broker in
      let names = [
        "X-Forwarded-Uri", "X-Original-Uri", "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Path", "X-Forwarded-Prefix",
      ]
      for name in names {
        let response = try await broker.get(Self.closed, headers: [name: Self.open, "X-Forwarded-For": "192.0.2.1"])
        #expect(response.status == 401, "\(name)")
      }
      // Nor does a header make another method of it.
      for name in ["X-HTTP-Method-Override", "X-Forwarded-Method", "X-Method-Override"] {
        let status = try await broker.get(Self.closed, headers: [name: "OPTIONS"]).status
        #expect(status == 401, "\(name)")
      }
      #expect(broker.google.mints == 0)
    }
  }

  @Test("GHSA-5hvv-m4w4-gf6v: who calls itself a health check or a crawler is let in no further, and is limited like anybody")
  func userAgent() async throws {
    try await BrokerTests.withBroker(["PARLEY_AUTH_IP_BURST": "8"]) { broker in
      let agents = [
        "GoogleHC/1.0", "kube-probe/1.31", "ELB-HealthChecker/2.0", "Envoy/HC", "Consul Health Check", "UptimeRobot/2.0", "", "-",
      ]
      for agent in agents {
        let status = try await broker.get(Self.closed, headers: ["User-Agent": agent]).status
        #expect(status == 401, "\(agent)")
      }
      for agent in agents {
        let status = try await broker.get(Self.closed, token: broker.idToken(), headers: ["User-Agent": agent]).status
        #expect(status == 429, "\(agent)")
      }
    }
  }

  @Test("GHSA-pxq7-h93f-9jrg, GHSA-7rh7-c77v-6434: fragments, queries and dots lead no request past its credential")
  func pathTricks() async throws {
    try await BrokerTests.withBroker { broker in
      let address = try #require(broker.instance.addresses.grpc)
      let paths = [
        "/token#/healthz", "/token?x=/healthz", "/token?/healthz", "/healthz#/../token", "/healthz/../token",
        "/healthz/..%2ftoken",
        "/token/../healthz", "/token/healthz", "/token;/healthz", "/token/", "//token", "/./token", "/token%00/healthz",
        "/token%2f..%2fhealthz", "/%74oken", "/TOKEN", "/healthz?next=/token", "/healthz/", "/whoami#/healthz",
        "/token?path=^/healthz$",
      ]
      let loop = broker.loops.loops[0]
      let answers = try await loop.perform { () async throws -> [String: HTTP2Peer.Exchange] in
        let peer = try await HTTP2Peer.open(to: address, on: loop)
        var answers: [String: HTTP2Peer.Exchange] = [:]
        for (index, path) in paths.enumerated() {
          let stream = UInt32(2 * index + 1)
          peer.send(.headers(stream, HTTP2Peer.httpHeaders("GET", path), ends: true))
          answers[path] = try await peer.response(stream)
        }
        peer.close()
        return answers
      }
      for path in paths {
        let answer = try #require(answers[path])
        let text = String(decoding: answer.body, as: UTF8.self)
        switch answer.value(":status").flatMap({ Int($0) }) {
        // What is open stays what it is, whatever follows; it hands out nothing.
        case 200: #expect(text == "ok" && path.hasPrefix("/healthz"), "\(path): \(text)")
        case 400?, 401?, 404?: break
        // A path that is none ends its stream.
        case let status: #expect(status == nil && answer.resetCode != nil, "\(path): \(answer)")
        }
      }
      #expect(broker.google.mints == 0)
      for path in ["/token?x=/healthz", "/token?path=^/healthz$"] { #expect(answers[path]?.value(":status") == "401", "\(path)") }
    }
  }

  @Test("GHSA-c5c4-8r6x-56w3: no part of an e-mail address makes anybody a member of a domain")
  func domains() async throws {
    try await BrokerTests.withBroker(["ALLOWED_HD": "example.org"]) { broker in
      for email in [
        "eve@evil.example@example.org", "eve@example.org", "\"eve@example.org\"@evil.example", "eve@example.org.evil.example",
        "eve@evil.example,ana@example.org", "eve@EXAMPLE.ORG", "@example.org",
      ] {
        let domains =
          [
            nil, "evil.example", "example.org.evil.example", "evil.example@example.org", "", "example.org\u{0}",
          ] as [String?]
        for domain in domains {
          let token = FakeGoogle.token(changes: [("email", .string(email)), ("hd", domain.map(JSONValue.string))])
          let response = try await broker.get(Self.closed, token: token, headers: ["X-Forwarded-For": "192.0.2.\(email.count)"])
          #expect(response.status == 403 || response.status == 429, "\(email), \(domain ?? "no domain")")
        }
      }
      let member = FakeGoogle.token(changes: [("email", "eve@evil.example"), ("hd", "example.org"), ("sub", "member")])
      #expect(try await broker.get(Self.closed, token: member, headers: ["X-Forwarded-For": "203.0.113.1"]).status == 200)
      #expect(broker.google.mints == 1)
    }
  }

  @Test("CVE-2025-64484, AUTH-M7: underscores make no other header of it, and a credential that comes twice is none")
  func underscores() async throws {
    try await BrokerTests.withBroker(["PARLEY_AUTH_IP_BURST": "6"]) { broker in
      // Neither spelling of the credential is the credential.
      let names = [
        "X_Forwarded_User", "X-Forwarded-User", "X_Forwarded_Email", "X_Auth_Request_Email", "Authorization_",
        "Proxy_Authorization",
      ]
      for name in names {
        let response = try await broker.get(
          Self.closed, headers: [name: "Bearer \(broker.idToken())", "X-Forwarded-For": "198.51.100.1"])
        #expect(response.status == 401, "\(name)")
      }
      // Nor of the address: all of these are the one client, behind the proxy that is trusted.
      let spellings = [
        "X_Forwarded_For", "x_forwarded-for", "X-Forwarded_For", "Forwarded_For", "X_Real_IP", "X-Real-IP", "Forwarded",
      ]
      for (number, name) in spellings.enumerated() where number < 6 {
        let status = try await broker.get(
          Self.closed, headers: [name: "203.0.113.\(number)", "X-Forwarded-For": "198.51.100.2"]
        ).status
        #expect(status == 401, "\(name)")
      }
      for (number, name) in spellings.enumerated() {
        let refused = try await broker.get(
          Self.closed, token: broker.idToken(), headers: [name: "203.0.113.\(number)", "X-Forwarded-For": "198.51.100.2"])
        #expect(refused.status == 429, "\(name)")
      }
      var twice = broker.options(broker.idToken(), "198.51.100.3")
      twice.metadata.append("authorization", "Bearer \(broker.idToken("bo"))")
      let options = twice
      #expect(
        await ending { () async throws(RPCError) in try await broker.grpc.exchangeToken(options: options) }
          == "UNAUTHENTICATED MISSING_AUTHORIZATION")
      #expect(broker.google.mints == 0)
    }
  }

  @Test("GHSA-3529-5m8x-rpv3: nothing that is answered or signed is made of the host that a request names")
  func forwardedHost() async throws {
    let settings = ["PARLEY_AUTH_SESSION_ISSUER": "https://auth.example.org"]
    try await SignInTests.with(settings) { service, _ in
      let evil = "attacker.example"
      let headers: HTTPHeaders = [
        "X-Forwarded-Host": "\(evil)", "X-Forwarded-Proto": "http", "X-Forwarded-Server": "\(evil)", "X-Host": "\(evil)",
        "Forwarded": "host=\(evil);proto=http", "Origin": "https://\(evil)", "Referer": "https://\(evil)/",
      ]
      for (method, path) in [
        (HTTPMethod.get, "/healthz"), (.get, "/token"), (.get, "/whoami"), (.get, "/.well-known/jwks.json"), (.get, "/nowhere"),
        (.post, "/token"), (.options, "/token"),
      ] {
        let response = try await service.get(path, method: method, headers: headers)
        #expect(response.text?.contains(evil) == false, "\(path)")
        #expect(!response.headers.contains { $0.value.contains(evil) }, "\(path): \(response.headers)")
        #expect(response.headers["location"] == nil)
      }
      let nonce = try await service.nonce()
      var options = service.from()
      for header in headers { options.metadata.append(.init(name: header.name.lowercased(), value: .text(header.value))) }
      let asked = options
      let answer = try await service.auth.signInWithGoogle(
        .init(idToken: service.googleToken(nonce: nonce.nonce), nonce: nonce.nonce), options: asked)
      let payload = try #require(answer.tokens?.accessToken.split(separator: ".").dropFirst().first)
      let claims = try JSONParser.parse(try #require(Base64URL.decode(String(payload)))).object
      #expect(claims?["iss"]?.string == "https://auth.example.org")
    }
  }

  @Test(
    "B-51: what is for operators or for finding faults is there in development, and none of it where production serves people (AF-13)"
  )
  func debugRoutes() async throws {
    try await BrokerTests.withBroker(["PARLEY_AUTH_ADMIN_LISTEN": "127.0.0.1:0"]) { broker in
      let admin = "http://\(try #require(broker.instance.addresses.admin))"
      let parts = try JSONParser.parse(try await broker.http.send(HTTPRequest(.get, admin + "/debug/all")).body).object
      let debugging = try #require(parts).members.map { "/debug/\($0.name)" }
      #expect(debugging.count > 3)
      // Each is there, for whoever is on this machine; and at the service's own ports it is not.
      for path in ["/", "/metrics", "/livez", "/readyz", "/debug/all"] + debugging {
        #expect(try await broker.http.send(HTTPRequest(.get, admin + path)).status == 200, "\(path)")
        try await Self.isClosed(path, broker)
      }
      for version in ["v1", "v1alpha"] {
        #expect(try await Self.reflection(version, broker).hasPrefix("OK"), "\(version)")
      }
    }
    // As `make deploy` installs it, which `deploy/verify.sh` looks at; the defaults are development's.
    try await BrokerTests.withBroker(["PARLEY_AUTH_REFLECTION": "false"]) { broker in
      for path in [
        "/debug", "/debug/voip", "/debug/onboarding/retry-transcription/ana", "/trigger/voip", "/voip/status", "/test",
        "/sandbox/google/id-token", "/admin",
      ] { try await Self.isClosed(path, broker) }
      for version in ["v1", "v1alpha"] {
        #expect(try await Self.reflection(version, broker).hasPrefix("UNIMPLEMENTED"), "\(version)")
      }
      let operators = BrokerAdminService.Client(broker.channel)
      let options = broker.options(broker.idToken())
      #expect(
        await ending { () async throws(RPCError) in try await operators.getKillSwitches(options: options) }
          == "UNAUTHENTICATED CLIENT_IDENTITY_REQUIRED")
      #expect(
        await ending { () async throws(RPCError) in
          try await BrokerAdminService.Client(broker.operators).getKillSwitches(options: options)
        } == "OK")
    }
    // What is open to operators on this machine is open to nobody else: the setting takes no other address.
    for address in ["0.0.0.0:9000", "[::]:9000", "192.0.2.1:9000"] {
      await #expect(throws: (any Error).self) {
        try await BrokerTests.withBroker(["PARLEY_AUTH_ADMIN_LISTEN": address]) { _ in }
      }
    }
  }

  /// Nothing is there for people, whatever token comes along.
  private static func isClosed(_ path: String, _ broker: BrokerFixture) async throws {
    for method in [HTTPMethod.get, .post] {
      let response = try await broker.get(
        path, token: broker.idToken(), method: method, headers: ["X-Debug-Access": "token", "X-Forwarded-For": "127.0.0.1"])
      #expect(response.status == 404, "\(method) \(path): \(response.status)")
    }
  }

  /// How a call ends that asks what is served, as tools ask it.
  private static func reflection(_ version: String, _ broker: BrokerFixture) async throws -> String {
    let method = MethodDescriptor<
      GRPCReflectionV1.ServerReflectionRequest, GRPCReflectionV1.ServerReflectionResponse
    >(service: "grpc.reflection.\(version).ServerReflection", name: "ServerReflectionInfo", kind: .bidirectional, access: .public)
    do {
      return try await broker.channel.stream(method, broker.from()) { call in
        try await call.send(.init(messageRequest: .listServices("")))
        try await call.finishSending()
        var responses = call.responses
        guard let first = try await responses.next() else { return "nothing" }
        return first.messageResponse == nil ? "empty" : "OK"
      }
    } catch let error as RPCError { return error.code.name }
  }
}
