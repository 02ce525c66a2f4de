internal import Buffers
internal import HTTP2
internal import MessagesCore
internal import MessagesWire
internal import RPC
internal import RPCWire

extension ClientLoop {
  /// Makes a unary call on this loop's connection.
  func unary<Request: Message, Response: Message>(
    _ method: MethodDescriptor<Request, Response>, _ request: Request, _ options: CallOptions
  ) async throws(RPCError) -> ClientResponse<Response> {
    let deadline = options.effectiveDeadline
    var attempts = 0
    while true {
      attempts += 1
      if deadline?.hasPassed == true { throw .deadlineExceeded }
      let connection = try await connection(options, deadline: deadline)
      let call = GRPCClientCall(on: loop, maximumBytes: options.maximumResponseBytes ?? configuration.maximumResponseBytes)
      let started = try start(call, method.info, request, options, deadline, connection)
      if started { await call.wait(until: deadline) }
      switch call.outcome {
      case .response(let body, let initial, let trailing):
        do {
          let message: Response = try body.withUnsafeBytes { (bytes) throws(DecodeError) in try decoder.decode(from: bytes) }
          return ClientResponse(message, initialMetadata: initial, trailingMetadata: trailing)
        } catch {
          throw RPCError(.internal, "the response cannot be decoded: \(error)", cause: error)
        }
      case .failure(let error): throw error
      // The server has not seen it, so that trying again cannot do anything twice.
      case .unprocessed(let error): if attempts >= 3 { throw error }
      }
    }
  }

  /// - Returns: Whether the call is on its way; if not, the connection took no new stream.
  private func start<Request: Message>(
    _ call: GRPCClientCall, _ method: MethodInfo, _ request: Request, _ options: CallOptions, _ deadline: Deadline?,
    _ connection: HTTP2Connection
  ) throws(RPCError) -> Bool {
    let headers = HeaderList(capacity: 8 + options.metadata.entries.count)
    headers.append(":method", "POST")
    headers.append(":scheme", connection.isSecure ? "https" : "http")
    headers.append(":path", method.path)
    headers.append(":authority", target.description)
    headers.append("te", "trailers")
    if let deadline { headers.append("grpc-timeout", Timeout.encode(deadline.timeLeft)) }
    headers.append("content-type", "application/grpc")
    headers.append("user-agent", configuration.userAgent)
    GRPCHeaders.append(options.metadata, to: headers)
    guard let stream = connection.request(headers, endsStream: false, handler: call) else {
      connectionIsExhausted(connection)
      return false
    }
    call.open(stream)
    stream.outbound.append(contentsOf: [0, 0, 0, 0, 0] as [UInt8])
    do {
      let count = try encoder.encode(request, into: stream.outbound)
      stream.outbound.overwrite(bigEndian: UInt32(count), at: 1)
    } catch {
      stream.reset(.cancel)
      throw RPCError(.internal, "the request cannot be encoded: \(error)", cause: error)
    }
    stream.finish()
    return true
  }
}
