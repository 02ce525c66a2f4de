public import MessagesCore
public import RPC

extension ClientChannel {
  /// Makes a call of any kind; see ``Channel``.
  public func stream<Request: Message, Response: Message, Result: Sendable>(
    _ method: MethodDescriptor<Request, Response>, _ options: CallOptions,
    _ body: (ClientStream<Request, Response>) async throws -> Result
  ) async throws -> Result {
    throw RPCError(.unimplemented, "this channel carries unary calls only")
  }
}
