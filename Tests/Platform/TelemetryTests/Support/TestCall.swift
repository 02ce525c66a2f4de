import MessagesCore
import RPC
import TestAPI

/// A call without a transport, for interceptors that only look at what surrounds the messages.
// SAFETY: used by one task at a time.
final class TestCall: ServerCall, @unchecked Sendable {
  static let service = EchoService.descriptor

  let method: MethodInfo
  let metadata: Metadata
  let deadline: Deadline?
  let peer = Peer(address: "192.0.2.7", port: 1)
  var initialMetadata = Metadata()
  var trailingMetadata = Metadata()
  private(set) var values = CallValues()
  func updateValues(_ body: (inout CallValues) -> Void) { body(&values) }
  var requestWasCompressed = false
  var responseCompression = MessageCompression.identity
  var traffic: CallTraffic {
    var traffic = CallTraffic()
    (traffic.received, traffic.sent) = (100, 200)
    return traffic
  }

  init(_ method: MethodInfo, metadata: Metadata = [:], deadline: Deadline? = nil) {
    self.method = method
    self.metadata = metadata
    self.deadline = deadline
  }

  private var noMessages: RPCError { RPCError(.unimplemented, "this call has no messages") }

  func unaryRequest<M: Message>(_ type: M.Type) async throws(RPCError) -> M { throw noMessages }
  func unaryResponse<M: Message>(_ message: M) async throws(RPCError) { throw noMessages }
  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M? { throw noMessages }
  func send<M: Message>(_ message: M) async throws(RPCError) { throw noMessages }
}
