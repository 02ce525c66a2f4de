internal import Buffers
internal import HTTP2
internal import RPC
internal import RPCWire

/// Requests whose headers depend on their one message: the unary calls of Connect.
extension CallAttempt {
  /// Sends the whole request.
  func submit(on connection: HTTP2Connection, _ message: ByteBuffer, _ wanted: MessageCompression) throws(RPCError) {
    reserved = nil
    sentBytes += message.count
    isSendingFinished = true
    var body = message
    if wanted != .identity {
      body = ByteBuffer(capacity: message.count / 2)
      part.coding.compressing(wanted, into: body) { $0.append(message.bytes) }
    }
    if plan.usesGET, body.count <= ConnectQuery.maximumBytes {
      // Of a message in a query each may be compressed or not, and compressing nothing makes an address longer and no other.
      let query = ConnectQuery.make(
        message.isEmpty ? message.bytes : body.bytes, message.isEmpty ? .identity : wanted, plan.codec)
      if query.utf8.count <= ConnectQuery.maximumBytes {
        let headers = RequestHeaders.get(plan, part, isSecure: connection.isSecure, query: query)
        return try require(open(on: connection, headers, endsStream: true))
      }
    }
    let headers = RequestHeaders.list(plan, part, isSecure: connection.isSecure, bodyCompression: wanted)
    try require(open(on: connection, headers, endsStream: false))
    stream?.outbound.append(body.bytes)
    stream?.finish()
  }

  private func require(_ isOpen: Bool) throws(RPCError) {
    if !isOpen, let error = outcome?.error { throw error }
  }
}
