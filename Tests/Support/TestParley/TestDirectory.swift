internal import EventLoop
internal import HTTP2
public import ParleyAPI
public import RPC
internal import RPCServer
internal import ServiceKit
internal import Synchronization
internal import WellKnown

/// Who is signed in, who no longer is, and who has paid, served to other services over mutual TLS as the auth service does it.
public final class TestDirectory: SessionDirectoryService.Handlers {
  /// What is wrong with it.
  public enum Fault: Sendable {
    /// Nothing.
    case none
    /// Streams stay open and say nothing; questions are answered.
    case silent
    /// Nothing is answered.
    case away
  }

  struct State {
    var alive: Set<String> = []
    var subscribed: Set<String> = []
    var products: [String: String] = [:]
    var hidesProducts = false
    var ended: [EndedSession] = []
    var fault = Fault.none
    var cursors: [Int64] = []
    var cursorSessions: [String] = []
    var questions = 0
    /// Streams of an older number end.
    var epoch = 0
  }

  let state = Mutex(State())

  /// Nobody is signed in.
  public init() {}

  /// Where each stream asked to begin.
  public var cursors: [Int64] { state.withLock { $0.cursors } }
  /// Whose the place was at which each stream asked to begin.
  public var cursorSessions: [String] { state.withLock { $0.cursorSessions } }
  /// How often somebody asked.
  public var questions: Int { state.withLock { $0.questions } }

  /// A session is alive.
  public func begin(_ session: String) { state.withLock { _ = $0.alive.insert(session) } }

  /// An account has a running subscription of a product, or no more.
  public func subscribe(_ user: String, _ isSubscribed: Bool = true, to product: String = "") {
    state.withLock { state in
      state.products[user] = product
      if isSubscribed { state.subscribed.insert(user) } else { state.subscribed.remove(user) }
    }
  }

  /// Whether nobody can say which product somebody has.
  public func hideProducts(_ isHidden: Bool) { state.withLock { $0.hidesProducts = isHidden } }

  /// A session has ended.
  public func end(_ session: String, _ cause: ParleyAPI.SessionEnd, mattersUntil seconds: Int64) {
    state.withLock { state in
      state.alive.remove(session)
      state.ended.append(.init(sessionID: session, cause: cause, mattersUntil: .init(seconds: seconds)))
    }
  }

  /// What is wrong from now on.
  public func set(_ fault: Fault) { state.withLock { $0.fault = fault } }

  /// Ends all streams; their readers come back.
  public func breakStreams() { state.withLock { $0.epoch += 1 } }

  /// As the proto file says.
  public func watchRevocations(
    _ request: WatchRevocationsRequest, _ responses: ResponseWriter<WatchRevocationsResponse>, _ call: CallContext
  ) async throws {
    let epoch = state.withLock { state in
      state.cursors.append(request.cursor)
      state.cursorSessions.append(request.cursorSessionID)
      return state.epoch
    }
    var cursor = request.cursor
    while true {
      let (fault, isOver, news, last) = state.withLock { state in
        (state.fault, state.epoch != epoch, Array(state.ended.dropFirst(Int(cursor))), state.ended.last)
      }
      if fault == .away || isOver { throw RPCError(.unavailable, "the directory is away") }
      if fault == .none {
        cursor += Int64(news.count)
        try await responses.write(.init(sessions: news, cursor: cursor, cursorSessionID: last?.sessionID ?? ""))
      }
      try await Task.sleep(for: .milliseconds(100))
    }
  }

  /// As the proto file says.
  public func checkSessions(_ request: CheckSessionsRequest, _ call: CallContext) async throws -> CheckSessionsResponse {
    try state.withLock { state in
      state.questions += 1
      if state.fault == .away { throw RPCError(.unavailable, "the directory is away") }
      return CheckSessionsResponse(aliveSessionIDs: request.sessionIDs.filter { state.alive.contains($0) })
    }
  }
}

extension TestDirectory: EntitlementDirectoryService.Handlers {
  /// As the proto file says.
  public func checkEntitlement(
    _ request: CheckEntitlementRequest, _ call: CallContext
  ) async throws -> CheckEntitlementResponse {
    try state.withLock { state in
      if state.hidesProducts && request.withProduct { throw RPCError(.unavailable, "nobody knows products") }
      return CheckEntitlementResponse(
        isEntitled: state.subscribed.contains(request.userID),
        productID: request.withProduct ? state.products[request.userID] ?? "" : "")
    }
  }
}

/// A directory that listens.
struct ServedDirectory: Sendable {
  let address: SocketAddress
  private let server: RPCServer

  init(_ directory: TestDirectory, on loops: EventLoopGroup, _ tls: TLSContext, admitting identity: ClientIdentity) throws {
    let policy = try AccessPolicy(
      for: [SessionDirectoryService.descriptor, EntitlementDirectoryService.descriptor],
      guards: [.service: .authenticator(ClientIdentityAuthenticator([identity]))])
    server = RPCServer(
      on: loops, services: [SessionDirectoryService.routes(directory), EntitlementDirectoryService.routes(directory)],
      interceptors: [policy])
    address = try server.listen(on: SocketAddress("127.0.0.1:0"), tls: tls)
  }

  func stop() async { await server.drain(within: .zero) }
}
