public import MessagesCore

/// Where a caller writes the requests of a call.
public struct RequestWriter<Request: Message>: Sendable {
  private let call: any ClientCall

  /// Writes the requests of `call`.
  public init(_ call: any ClientCall) { self.call = call }

  /// Sends a request; suspends while the server reads more slowly than the caller writes.
  ///
  /// - Parameters:
  ///   - request: The message.
  ///   - compressed: Whether to use the call's compression, if it has one, for this message.
  /// - Throws: ``RPCError`` once the call has ended: its status, or ``StatusCode/cancelled`` with the cause ``CallHasEnded`` when
  ///   that was OK.
  public func write(_ request: Request, compressed: Bool = true) async throws(RPCError) {
    try await call.send(request, compressed: compressed)
  }
}
