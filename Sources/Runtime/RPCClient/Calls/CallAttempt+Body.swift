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
    // Nothing is nothing in every encoding.
    let compression = message.isEmpty ? .identity : wanted
    var body = message
    if compression != .identity {
      body = ByteBuffer(capacity: message.count / 2)
      part.coding.compressing(compression, into: body) { $0.append(message.bytes) }
    }
    if plan.usesGET, body.count <= ConnectQuery.maximumBytes {
      let query = ConnectQuery.make(body.bytes, compression, plan.codec)
      if query.utf8.count <= ConnectQuery.maximumBytes {
        let headers = RequestHeaders.get(plan, part, isSecure: connection.isSecure, query: query)
        return try require(open(on: connection, headers, endsStream: true))
      }
    }
    let headers = RequestHeaders.list(plan, part, isSecure: connection.isSecure, bodyCompression: compression)
    try require(open(on: connection, headers, endsStream: false))
    stream?.outbound.append(body.bytes)
    stream?.finish()
  }

  private func require(_ isOpen: Bool) throws(RPCError) {
    if !isOpen, let error = outcome?.error { throw error }
  }
}
