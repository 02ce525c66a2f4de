internal import MessagesCore
internal import RPC
internal import Synchronization

/// A call as its handler sees it.
final class InProcessServerCall: ServerCall {
  private let call: InProcessCall

  init(_ call: InProcessCall) { self.call = call }

  var method: MethodInfo { call.method }
  var protocolName: String { "in-process" }
  var metadata: Metadata { call.metadata }
  var deadline: Deadline? { call.deadline }
  var peer: Peer { Peer(address: "in-process") }
  var requestWasCompressed: Bool { false }
  /// Messages have no encoding here, so there are no bytes to count.
  var traffic: CallTraffic { CallTraffic() }

  var initialMetadata: Metadata {
    get { call.state.withLock { $0.initialMetadata } }
    set { call.state.withLock { $0.initialMetadata = newValue } }
  }

  var trailingMetadata: Metadata {
    get { call.state.withLock { $0.trailingMetadata } }
    set { call.state.withLock { $0.trailingMetadata = newValue } }
  }

  var values: CallValues { call.state.withLock { $0.values } }
  func updateValues(_ body: (inout CallValues) -> Void) { call.state.withLock { body(&$0.values) } }

  var responseCompression: MessageCompression {
    get { call.state.withLock { $0.compression } }
    set { call.state.withLock { $0.compression = newValue } }
  }

  func unaryRequest<M: Message>(_ type: M.Type) async throws(RPCError) -> M {
    let messages = call.requests.takeAll()
    guard let message = messages.first else { throw RPCError(.unimplemented, "the call ended without a request message") }
    guard messages.count == 1 else { throw RPCError(.unimplemented, "the call has more than one request message") }
    return try typed(message)
  }

  func unaryResponse<M: Message>(_ message: M) async throws(RPCError) {
    let isFirst = call.state.withLock { state in
      defer { state.hasResponse = true }
      return !state.hasResponse
    }
    precondition(isFirst, "a unary call has one response")
    call.responses.push(message)
  }

  func sendInitialMetadata() {
    if call.method.kind == .serverStreaming || call.method.kind == .bidirectional { call.sendHeaders() }
  }

  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M? {
    guard let message = try await call.requests.receive() else { return nil }
    return try typed(message)
  }

  func send<M: Message>(_ message: M) async throws(RPCError) {
    if call.method.kind == .clientStreaming {
      // The response waits for its status, so nobody reads before the handler returns.
      call.state.withLock { $0.hasResponse = true }
      return call.responses.push(message)
    }
    call.sendHeaders()
    guard await call.responses.send(message) else { throw InProcessCall.isOver }
  }

  private func typed<M: Message>(_ message: any Message) throws(RPCError) -> M {
    guard let request = message as? M else {
      throw RPCError(.invalidArgument, "the request is a \(type(of: message)), not a \(M.self)")
    }
    return request
  }
}
