internal import MessagesCore
internal import RPC
internal import Synchronization

/// A call whose first request has been read, so that something could look at it before the handler does.
///
/// Everything else is the call's own. The response of a unary call may be held back, so that it can be kept before it is sent.
final class ReadCall: ServerCall {
  private struct State {
    /// The first request, until the handler lets go of it.
    var request: (any Message)?
    var isTaken = false
    var holdsResponse = false
    var response: (any Message)?
  }

  /// What stands behind it.
  let inner: any ServerCall
  private let state: Mutex<State>

  private init(_ inner: any ServerCall, _ request: any Message) {
    self.inner = inner
    state = Mutex(State(request: request))
  }

  /// Whether ``unaryResponse(_:)`` holds back what it gets.
  var holdsResponse: Bool {
    get { state.withLock { $0.holdsResponse } }
    set { state.withLock { $0.holdsResponse = newValue } }
  }

  /// What was held back.
  var response: (any Message)? { state.withLock { $0.response } }

  private var isTaken: Bool { state.withLock { $0.isTaken } }

  /// The first request, for who looks at it before the handler does.
  func message() throws(RPCError) -> any Message {
    guard let request = state.withLock({ $0.request }) else { throw RPCError(.internal, "the request was let go of") }
    return request
  }

  /// The call with its request read, by whoever asks first.
  static func reading(_ call: any ServerCall, _ policy: MethodPolicy) async throws(RPCError) -> ReadCall {
    if let read = call as? ReadCall { return read }
    return ReadCall(call, try await first(policy.request, of: call))
  }

  private static func first<M: Message>(_ type: M.Type, of call: any ServerCall) async throws(RPCError) -> any Message {
    guard call.method.kind != .unary else {
      try await call.awaitRequest()
      return try await call.unaryRequest(type)
    }
    guard let request = try await call.receive(type) else {
      throw RPCError(.unimplemented, "the call ended without a request message")
    }
    return request
  }

  private func taken<M: Message>(_ type: M.Type) throws(RPCError) -> M {
    let request = state.withLock { state in
      state.isTaken = true
      return state.request
    }
    guard let request = request as? M else { throw RPCError(.internal, "the handler expects another type of request") }
    return request
  }

  // MARK: Messages

  func unaryRequest<M: Message>(_ type: M.Type) async throws(RPCError) -> M { try taken(type) }

  func letGoOfRequest() {
    state.withLock { $0.request = nil }
    inner.letGoOfRequest()
  }

  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M? {
    isTaken ? try await inner.receive(type) : try taken(type)
  }

  func requestSlots(_ descriptor: MessageDescriptor) throws(RPCError) -> MessageSlots? {
    isTaken && method.kind != .unary ? try inner.requestSlots(descriptor) : nil
  }

  func finishRequest() { inner.finishRequest() }

  func unaryResponse<M: Message>(_ message: M) async throws(RPCError) {
    guard holdsResponse else { return try await inner.unaryResponse(message) }
    state.withLock { $0.response = message }
  }

  func responseSlots(_ descriptor: MessageDescriptor) throws(RPCError) -> SlotWriter? {
    holdsResponse ? nil : try inner.responseSlots(descriptor)
  }

  func send<M: Message>(_ message: M) async throws(RPCError) { try await inner.send(message) }
  func sendResponse(_ slots: SlotWriter) throws(RPCError) -> Bool { try inner.sendResponse(slots) }
  func roomToSend() async { await inner.roomToSend() }

  // MARK: The rest

  var method: MethodInfo { inner.method }
  var metadata: Metadata { inner.metadata }
  func metadataText(_ name: String) -> String? { inner.metadataText(name) }
  var soleAuthorization: String? { inner.soleAuthorization }
  var requestIDText: String? { inner.requestIDText }
  var deadline: Deadline? { inner.deadline }
  var peer: Peer { inner.peer }
  var initialMetadata: Metadata {
    get { inner.initialMetadata }
    set { inner.initialMetadata = newValue }
  }
  var trailingMetadata: Metadata {
    get { inner.trailingMetadata }
    set { inner.trailingMetadata = newValue }
  }
  var values: CallValues { inner.values }
  func updateValues(_ body: (inout CallValues) -> Void) { inner.updateValues(body) }
  var requestWasCompressed: Bool { inner.requestWasCompressed }
  var responseCompression: MessageCompression {
    get { inner.responseCompression }
    set { inner.responseCompression = newValue }
  }
  var traffic: CallTraffic { inner.traffic }
  var protocolName: String { inner.protocolName }
  var query: String? { inner.query }
  func sendInitialMetadata() { inner.sendInitialMetadata() }
}
