import MessagesCore
import Outbound
import PostgreSQL
import RPC
import TestAPI
import Testing

@testable import ServiceKit

@Suite("What every call passes")
struct InterceptorTests {
  @Test(
    "A database error becomes what a caller may know of it",
    arguments: [
      (DatabaseError.Code.connectionLost, StatusCode.unavailable, "DATABASE_UNAVAILABLE"),
      (.closed, .unavailable, "DATABASE_UNAVAILABLE"),
      (.poolExhausted, .resourceExhausted, "DATABASE_BUSY"), (.outOfResources, .resourceExhausted, "DATABASE_BUSY"),
      (.deadlineExceeded, .deadlineExceeded, "DATABASE_TIMEOUT"), (.aborted, .aborted, "CONFLICT"),
      (.alreadyExists, .alreadyExists, "ALREADY_EXISTS"), (.unstorableText, .invalidArgument, "UNSTORABLE_TEXT"),
    ])
  func database(_ code: DatabaseError.Code, _ status: StatusCode, _ reason: String) throws {
    let error = try #require(ErrorMap.rpcError(for: DatabaseError(code, "host db.internal is gone")))
    #expect(error.code == status && error.reason == reason && !error.message.contains("db.internal"))
    #expect(error.cause is DatabaseError)
  }

  @Test(
    "A defect is left to the server, which hides it",
    arguments: [DatabaseError.Code.queryFailed, .decodingFailed, .misuse, .constraintViolated, .permissionDenied])
  func defects(_ code: DatabaseError.Code) {
    #expect(ErrorMap.rpcError(for: DatabaseError(code, "x")) == nil)
  }

  @Test(
    "A provider that is away is UNAVAILABLE with a reason",
    arguments: [
      (OutboundError.Code.connectFailed, "UPSTREAM_UNAVAILABLE"), (.circuitOpen, "UPSTREAM_UNAVAILABLE"),
      (.connectionLost, "UPSTREAM_UNAVAILABLE"),
      (.timeout, "UPSTREAM_TIMEOUT"),
    ])
  func outbound(_ code: OutboundError.Code, _ reason: String) throws {
    let error = try #require(ErrorMap.rpcError(for: OutboundError(code, "GET https://x", retryAfter: .seconds(7))))
    #expect(
      error.code == .unavailable && error.reason == reason && error.retryAfter == .seconds(7) && !error.message.contains("https"))
  }

  @Test("What a call to another service answered passes unchanged, and so does a cancellation")
  func passes() {
    let given = RPCError(.notFound, "no such note")
    #expect(ErrorMap.rpcError(for: given)?.code == .notFound)
    #expect(ErrorMap.rpcError(for: CancellationError())?.code == .cancelled)
  }

  @Test("A service with a method that nothing guards does not start, and is told which")
  func unguarded() {
    let error = #expect(throws: AccessPolicy.Unguarded.self) { try AccessPolicy(for: [EchoService.descriptor], guards: [:]) }
    #expect(error?.description == "no guard is given for /parley.testing.v1.EchoService/Guarded (SESSION)")
    #expect(throws: AccessPolicy.Unguarded.self) { try AccessPolicy(for: [EchoService.descriptor], guards: [.device: .handlers]) }
  }

  @Test("A guarded method is reached only past its guard, a public one always")
  func guarded() async throws {
    struct Refusing: Authenticator {
      func authenticate(_ call: any ServerCall) async throws { throw RPCError(.unauthenticated, "no") }
    }
    let refusing = try AccessPolicy(for: [EchoService.descriptor], guards: [.session: .authenticator(Refusing())])
    let guarded = FakeCall(EchoService.Methods.guarded.info)
    await #expect(throws: RPCError.self) { try await refusing.intercept(guarded) { _ in guarded.isServed = true } }
    #expect(!guarded.isServed)
    let open = FakeCall(EchoService.Methods.echo.info)
    try await refusing.intercept(open) { _ in open.isServed = true }
    #expect(open.isServed)
    let handlers = try AccessPolicy(for: [EchoService.descriptor], guards: [.session: .handlers])
    try await handlers.intercept(guarded) { _ in guarded.isServed = true }
    #expect(guarded.isServed)
  }

  @Test("Without waiting passes only who was judged before, or what is open or guards itself", arguments: [true, false])
  func admission(_ isKnown: Bool) async throws {
    struct Remembering: Authenticator {
      let isKnown: Bool
      func authenticate(_ call: any ServerCall) async throws { throw RPCError(.unauthenticated, "no") }
      func admitAtOnce(_ call: any ServerCall) throws -> Bool { isKnown }
    }
    let (guarded, open) = (EchoService.Methods.guarded.info, EchoService.Methods.echo.info)
    let policy = try AccessPolicy(
      for: [EchoService.descriptor], guards: [.session: .authenticator(Remembering(isKnown: isKnown))])
    #expect(try policy.admission(for: guarded)?(FakeCall(guarded)) == isKnown)
    #expect(try policy.admission(for: open)?(FakeCall(open)) == true)
    let handlers = try AccessPolicy(for: [EchoService.descriptor], guards: [.session: .handlers])
    #expect(try handlers.admission(for: guarded)?(FakeCall(guarded)) == true)
    #expect(try AccessPolicy(for: [], guards: [:]).admission(for: guarded) == nil)
    // As the server puts it together.
    let call = FakeCall(guarded)
    let route = MethodRoute(guarded) { call in (call as? FakeCall)?.isServed = true }.intercepted(by: [policy])
    do {
      try await route.serve(call)
      #expect(isKnown && call.isServed)
    } catch {
      #expect(!isKnown && !call.isServed && (error as? RPCError)?.code == .unauthenticated)
    }
  }

  @Test("A method that the policy never saw is refused")
  func unseen() async throws {
    let policy = try AccessPolicy(for: [], guards: [:])
    let call = FakeCall(EchoService.Methods.guarded.info)
    await #expect(throws: RPCError.self) { try await policy.intercept(call) { _ in call.isServed = true } }
    #expect(!call.isServed)
  }

  @Test("A caller's request id comes back with the headers, a made one with a failure")
  func requestIDs() async throws {
    let interceptor = RequestIDInterceptor()
    let named = FakeCall(EchoService.Methods.echo.info, metadata: ["x-request-id": "mine"])
    try await interceptor.intercept(named) { _ in }
    #expect(named.initialMetadata["x-request-id"] == "mine")
    let forged = FakeCall(EchoService.Methods.echo.info, metadata: ["x-request-id": "a\"b"])
    try await interceptor.intercept(forged) { _ in }
    #expect(forged.initialMetadata["x-request-id"].map { $0 != "a\"b" && $0.count >= 13 } == true)
    let failed = FakeCall(EchoService.Methods.echo.info)
    await #expect(throws: RPCError.self) { try await interceptor.intercept(failed) { _ in throw RPCError(.notFound, "x") } }
    #expect(failed.trailingMetadata["x-request-id"]?.isEmpty == false)
    let plain = FakeCall(EchoService.Methods.echo.info)
    try await interceptor.intercept(plain) { _ in }
    #expect(plain.initialMetadata.isEmpty && plain.trailingMetadata.isEmpty)
  }
}

/// A call without a connection.
// SAFETY: used by one task.
final class FakeCall: ServerCall, @unchecked Sendable {
  let method: MethodInfo
  let metadata: Metadata
  let deadline: Deadline? = nil
  let peer = Peer(address: "127.0.0.1")
  var initialMetadata: Metadata = [:]
  var trailingMetadata: Metadata = [:]
  private(set) var values = CallValues()
  func updateValues(_ body: (inout CallValues) -> Void) { body(&values) }
  var requestWasCompressed = false
  var responseCompression = MessageCompression.identity
  let traffic = CallTraffic()
  var isServed = false

  init(_ method: MethodInfo, metadata: Metadata = [:]) {
    self.method = method
    self.metadata = metadata
  }

  func unaryRequest<M: Message>(_ type: M.Type) async throws(RPCError) -> M { M() }
  func unaryResponse<M: Message>(_ message: M) async throws(RPCError) {}
  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M? { nil }
  func send<M: Message>(_ message: M) async throws(RPCError) {}
}
