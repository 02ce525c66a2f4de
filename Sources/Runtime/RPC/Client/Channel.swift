public import MessagesCore

/// A way to a service: what generated clients call through.
///
/// Implemented over HTTP/2 (`RPCClient`), over URLSession (`ClientCore`) and within a process, for tests.
public protocol Channel: Sendable {
  /// Makes a unary call.
  ///
  /// - Throws: ``RPCError``: what the server answered, or ``StatusCode/unavailable``, ``StatusCode/deadlineExceeded`` and
  ///   ``StatusCode/cancelled`` from this side.
  func unary<Request: Message, Response: Message>(
    _ method: MethodDescriptor<Request, Response>, _ request: Request, _ options: CallOptions
  ) async throws(RPCError) -> ClientResponse<Response>

  /// Makes a call of any kind, message by message, for as long as `body` runs. When it returns or throws before the call has
  /// ended, the call is cancelled: no call outlives its scope.
  ///
  /// - Throws: What `body` throws; ``RPCError`` when the call cannot begin.
  func stream<Request: Message, Response: Message, Result: Sendable>(
    _ method: MethodDescriptor<Request, Response>, _ options: CallOptions,
    _ body: (ClientStream<Request, Response>) async throws -> Result
  ) async throws -> Result
}

/// A channel that also moves messages which it does not know the types of, in the encoding that it was configured for: for
/// tools that learn a service's types while they run.
package protocol PayloadChannel: Channel {
  /// Makes a call of any kind as ``Channel/stream(_:_:_:)`` does. Only the names and the kind of `method` are used.
  func streamPayloads<Result: Sendable>(
    _ method: MethodInfo, _ options: CallOptions, _ body: (any PayloadCall) async throws -> Result
  ) async throws -> Result
}
