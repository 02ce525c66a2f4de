import EventLoop
import Glibc
import HTTP2
import RPC
import Telemetry
import TestSupport
import Testing

@testable import ServiceKit

@Suite("Clients that are known by their certificates")
struct ClientIdentityTests {
  let authority = TestAuthority()
  let clients = TestAuthority(commonName: "Parley clients")

  /// Who calls, and how the calls of both kinds of access end.
  struct Caller: CustomStringConvertible, Sendable {
    let description: String
    let leaf: @Sendable (TestAuthority) -> TestAuthority.Leaf?
    /// The answer of the open method; nil when the connection is refused.
    let identity: String?
    /// How a call of the restricted one ends.
    let code: StatusCode

    static let all: [Caller] = [
      Caller(
        description: "an allowed SPIFFE identity",
        leaf: { $0.client(commonName: "billing", uris: ["spiffe://parley/billing"], names: ["x.internal"]) },
        identity: "spiffe://parley/billing", code: .ok),
      Caller(
        description: "an allowed DNS name", leaf: { $0.client(commonName: "x", names: ["Notes.Internal", "other.internal"]) },
        identity: "notes.internal", code: .ok),
      Caller(
        description: "an allowed DNS name in the second place",
        leaf: { $0.client(commonName: "x", names: ["other.internal", "notes.internal"]) }, identity: "other.internal", code: .ok),
      Caller(
        description: "another identity", leaf: { $0.client(commonName: "x", uris: ["spiffe://parley/other"]) },
        identity: "spiffe://parley/other", code: .permissionDenied),
      Caller(
        description: "an allowed DNS name beside another SPIFFE identity",
        leaf: { $0.client(commonName: "x", uris: ["spiffe://parley/other"], names: ["notes.internal"]) },
        identity: "spiffe://parley/other", code: .permissionDenied),
      Caller(
        description: "two SPIFFE identities",
        leaf: { $0.client(commonName: "x", uris: ["spiffe://parley/billing", "spiffe://parley/other"]) }, identity: "nobody",
        code: .unauthenticated),
      Caller(
        description: "an allowed name as common name only", leaf: { $0.client(commonName: "notes.internal") }, identity: "nobody",
        code: .unauthenticated),
      Caller(
        description: "a certificate of another authority",
        leaf: { _ in TestAuthority(commonName: "A stranger").client(commonName: "x", uris: ["spiffe://parley/billing"]) },
        identity: nil, code: .unavailable),
      Caller(
        description: "an authority of the same name with another key",
        leaf: { _ in TestAuthority(commonName: "Parley clients").client(commonName: "x", uris: ["spiffe://parley/billing"]) },
        identity: nil, code: .unavailable),
      Caller(
        description: "a server's certificate", leaf: { $0.server(names: ["notes.internal"]) }, identity: nil, code: .unavailable),
    ]
  }

  private func with(
    _ flags: [String: String], telemetry: ServiceTelemetry = ServiceTelemetry(),
    _ body: (ServiceInstance) async throws -> Void
  ) async throws {
    let files = try TLSFiles(authority.server(), clientRoots: clients.certificate)
    let instance = try await ServiceInstance.start(
      PeerService.self, settings: files.settings(flags), log: CapturedLog().logger, telemetry: telemetry)
    async let serving: Void = instance.run()
    try await body(instance)
    instance.stop()
    try await serving
  }

  private static func code(_ result: Result<String, RPCError>) -> StatusCode {
    switch result {
    case .success: .ok
    case .failure(let error): error.code
    }
  }

  private static let allowed = ["tls.clientIdentities": "PeerService=spiffe://parley/billing, PeerService=notes.internal"]

  @Test("A client gets as far as its certificate allows", arguments: Caller.all)
  func caller(_ caller: Caller) async throws {
    try await with(Self.allowed) { instance in
      let leaf = caller.leaf(clients)
      let open = try await TLSCaller.once(instance, trusting: authority, as: leaf)
      if let identity = caller.identity {
        #expect(try open.get() == identity)
      } else {
        #expect(Self.code(open) == .unavailable)
      }
      let restricted = try await TLSCaller.once(instance, trusting: authority, as: leaf, PeerService.restricted)
      #expect(Self.code(restricted) == caller.code)
    }
  }

  @Test("Without a certificate nobody gets in where it is required; where it is optional, no further than open methods")
  func withoutCertificate() async throws {
    try await with(Self.allowed) { instance in
      let refused = try await TLSCaller.once(instance, trusting: authority)
      #expect(Self.code(refused) == .unavailable)
    }
    try await with(Self.allowed.merging(["tls.clientCertificates": "optional"]) { $1 }) { instance in
      #expect(try await TLSCaller.once(instance, trusting: authority).get() == "nobody")
      let restricted = try await TLSCaller.once(instance, trusting: authority, PeerService.restricted)
      guard case .failure(let error) = restricted else { throw TimedOut("nobody was let in") }
      #expect(error.code == .unauthenticated && error.reason == "CLIENT_IDENTITY_REQUIRED")
      let leaf = clients.client(commonName: "x", uris: ["spiffe://parley/billing"])
      let welcome = try await TLSCaller.once(instance, trusting: authority, as: leaf, PeerService.restricted)
      #expect(try welcome.get() == "welcome, spiffe://parley/billing")
    }
  }

  @Test(
    "A certificate out of its time opens nothing; one within it does",
    arguments: [("past", "000"), ("future", "000"), ("now", "404")])
  func validity(_ time: String, _ answer: String) async throws {
    try await with(Self.allowed) { instance in
      let validity: TestAuthority.Validity = time == "past" ? .past : time == "future" ? .future : .now
      let leaf = clients.client(commonName: "x", uris: ["spiffe://parley/billing"], validity: validity)
      let folder = try TextFolder()
      try folder.write("roots", authority.certificate)
      try folder.write("certificate", leaf.certificateChain)
      try folder.write("key", leaf.privateKey)
      // The product's own client would not even try.
      let result = try await DemoProcess.run([
        "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "20", "--cacert", folder.file("roots"), "--cert",
        folder.file("certificate"), "--key", folder.file("key"),
        "https://127.0.0.1:\(try #require(instance.addresses.tls?.port))/",
      ])
      #expect(result.output == answer)
    }
  }

  @Test("Without a list, methods of SERVICE access are closed to everybody")
  func closed() async throws {
    try await with([:]) { instance in
      let leaf = clients.client(commonName: "x", uris: ["spiffe://parley/billing"])
      let refused = try await TLSCaller.once(instance, trusting: authority, as: leaf, PeerService.restricted)
      guard case .failure(let error) = refused else { throw TimedOut("somebody was let in") }
      #expect(error.code == .permissionDenied && error.reason == "CLIENT_IDENTITY_REFUSED")
    }
  }

  @Test(
    "An identity for an RPC service that is not there is a wrong configuration, and one that lacks for another is told (AF-05)")
  func elsewhere() throws {
    let files = try TLSFiles(authority.server(), clientRoots: clients.certificate)
    let other = ["tls.clientIdentities": "OtherService=spiffe://parley/billing"]
    let findings = PeerService.findings(try files.settings(other))
    #expect(
      findings.contains { $0.key == "tls.clientIdentities" && $0.severity == .error && $0.message.contains("OtherService") })
    #expect(
      findings.contains { $0.key == "tls.clientIdentities" && $0.severity == .warning && $0.message.contains("PeerService") })
    #expect(PeerService.findings(try files.settings(Self.allowed)).allSatisfy { $0.key != "tls.clientIdentities" })
  }

  @Test("The access log has the identity, or else the common name")
  func accessLog() async throws {
    let folder = try TextFolder()
    let descriptor = open(folder.file("log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try await with([:], telemetry: ServiceTelemetry(sink: LogSink(descriptor: descriptor))) { instance in
      for leaf in [
        clients.client(commonName: "x", uris: ["spiffe://parley/billing"]), clients.client(commonName: "the \"old\" one"),
      ] {
        _ = try await TLSCaller.once(instance, trusting: authority, as: leaf)
      }
    }
    let log = try TextFile.read(folder.file("log"))
    #expect(log.contains(#""peer":"127.0.0.1","peer_identity":"spiffe://parley/billing""#), "\(log)")
    #expect(log.contains(#""peer":"127.0.0.1","peer_common_name":"the \"old\" one""#))
  }

  @Test("Identities without client roots are a wrong configuration")
  func misconfigured() async throws {
    let files = try TLSFiles(authority.server())
    let findings = PeerService.findings(try files.settings(Self.allowed))
    #expect(findings.contains { $0.key == "tls.clientCa" && $0.severity == .error })
  }
}
