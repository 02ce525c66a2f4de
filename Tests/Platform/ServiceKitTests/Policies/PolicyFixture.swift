import EventLoop
import Idempotency
import Limits
import Logging
import PostgreSQL
import RPC
import RPCClient
import RPCServer
import Synchronization
import Telemetry
import TestAPI
import TestSupport
import Values

@testable import ServiceKit

/// The notebook's methods with handlers of a test's own, behind all that their options ask for, on a database of the test's own. The
/// caller is whom the metadata `user` names.
final class PolicyFixture: Sendable {
  /// What the handlers do.
  struct Handlers: Sendable {
    var create: @Sendable (CreateNoteRequest, CallContext) async throws -> CreateNoteResponse = { request, _ in
      .init(note: .init(id: "made", text: request.text))
    }
    var importing: @Sendable (ImportNotesRequest, CallContext) async throws -> ImportNotesResponse = { request, _ in
      .init(count: Int32(request.texts.count))
    }
    var read: @Sendable (ReadNotesRequest, ResponseWriter<ReadNotesResponse>, CallContext) async throws -> Void = {
      request, responses, _ in
      try await responses.write(.init(note: .init(id: request.userID, text: "")))
    }
  }

  static let ana = UUID(high: 1, low: 1)
  static let ben = UUID(high: 2, low: 2)
  static let start: Int64 = 1_800_000_000

  let channel: ClientChannel
  let connect: ClientChannel
  let database: Database
  let store: IdempotencyStore
  let registry: PrometheusRegistry
  let address: SocketAddress
  let loop: EventLoop
  private let time: Time

  /// Moves the time of day.
  func advance(by duration: Duration) { time.wall.withLock { $0 += duration } }
  var notes: NotebookService.Client { NotebookService.Client(channel) }

  static func options(_ user: UUID = ana) -> CallOptions {
    CallOptions(metadata: ["user": user.description], deadline: .after(.seconds(60)))
  }

  private init(
    _ channel: ClientChannel, _ connect: ClientChannel, _ database: Database, _ store: IdempotencyStore,
    _ registry: PrometheusRegistry, _ time: Time, _ address: SocketAddress, _ loop: EventLoop
  ) {
    (self.channel, self.connect, self.database, self.store) = (channel, connect, database, store)
    (self.registry, self.time, self.address, self.loop) = (registry, time, address, loop)
  }

  private final class Time: Sendable {
    let wall = Mutex(Duration.seconds(PolicyFixture.start))
  }

  /// Lets in whom the metadata names.
  private struct Named: Authenticator {
    func authenticate(_ call: any ServerCall) async throws {
      guard let user = call.metadata["user"].flatMap({ UUID($0) }) else { throw SessionRefusal.missingAuthorization.rpcError }
      call[Caller.Key.self] = Caller(userID: user, sessionID: user, app: "default", authenticatedAt: 0)
    }
  }

  /// Starts it for the length of `body`.
  ///
  /// - Parameters:
  ///   - handlers: What the methods do.
  ///   - limiter: Who counts; the database otherwise.
  ///   - rates: What an operator has set.
  ///   - maximumAnswerBytes: The largest answer that is kept.
  static func with(
    _ handlers: Handlers = Handlers(), limiter: (any RateLimiter)? = nil, rates: [RateLimitSetting] = [],
    maximumAnswerBytes: Int = 1 << 20, longestCall: Duration = .seconds(60),
    _ body: @escaping @Sendable (PolicyFixture) async throws -> Void
  ) async throws {
    try await TestDatabase.with { prepared in
      let role = "parley_door"
      let url = try await prepared.prepare(
        "door",
        [
          Migration(1, "create_rate_limits", RateLimitMigration.create(schema: "door", role: role)),
          Migration(2, "create_idempotency", IdempotencyMigration.create(schema: "door", role: role)),
        ])
      var configuration = try DatabaseConfiguration(url)
      configuration.clockLead = nil
      let database = try Database(configuration, group: prepared.group, log: prepared.log)
      await database.waitUntilReady()
      let store = IdempotencyStore(schema: "door", database, maximumAnswerBytes: maximumAnswerBytes)
      let time = Time()
      let clock = WallClock { time.wall.withLock { $0 } }
      var parts = ServiceParts()
      parts.answers = store
      parts.limiter = limiter ?? RateLimitStore(schema: "door", database, loops: prepared.group.loops)
      let descriptor = NotebookService.descriptor
      let registry = PrometheusRegistry()
      let policies = try MethodPolicies(
        for: [descriptor], parts, rates,
        .init(
          proxies: TrustedProxies([]), clock: clock, longestCall: longestCall, loops: prepared.group.loops, registry: registry,
          log: prepared.log))
      let access = try AccessPolicy(
        for: [descriptor],
        guards: [.session: .authenticator(Named()), .service: .authenticator(Named()), .admin: .authenticator(Named())])
      let server = RPCServer(
        on: prepared.group, services: [routes(handlers)].guarded(by: policies, access),
        interceptors: [ErrorMappingInterceptor()])
      let address = try server.listen(on: SocketAddress("127.0.0.1:0"))
      let port = address.port ?? 0
      let channel = ClientChannel(to: .host("127.0.0.1", port: port), on: prepared.group)
      var wire = ClientChannelConfiguration()
      wire.wire = .connect
      let connect = ClientChannel(to: .host("127.0.0.1", port: port), on: prepared.group, configuration: wire)
      let fixture = PolicyFixture(
        channel, connect, database, store, registry, time, address, prepared.group.loops[0])
      let result: Result<Void, any Error>
      do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
      await channel.close()
      await connect.close()
      await server.drain(within: .seconds(5))
      await database.shutDown()
      try result.get()
    }
  }

  private static func routes(_ handlers: Handlers) -> ServiceRoutes {
    ServiceRoutes(
      NotebookService.descriptor,
      [
        .unary(NotebookService.Methods.createNote, handlers.create),
        .unary(NotebookService.Methods.importNotes, handlers.importing),
        .serverStreaming(NotebookService.Methods.readNotes, handlers.read),
        .unary(NotebookService.Methods.listNotes) { _, _ in .init() },
        .unary(NotebookService.Methods.knock) { _, _ in .init() },
      ])
  }
}

/// How a call ends: `OK`, or code and reason.
func outcome<Value>(_ call: () async throws -> Value) async -> String {
  do {
    _ = try await call()
    return "OK"
  } catch let error as RPCError {
    return "\(error.code.name) \(error.reason ?? "")"
  } catch {
    return "\(error)"
  }
}
