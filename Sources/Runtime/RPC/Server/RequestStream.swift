public import MessagesCore

/// The requests of a call, in order. Reading opens the caller's flow-control window, so a slow reader slows the caller.
public struct RequestStream<Element: Message>: AsyncSequence, AsyncIteratorProtocol, Sendable {
  private let call: any ServerCall

  /// The requests of `call`.
  public init(_ call: any ServerCall) { self.call = call }

  /// The stream itself: there is one reader.
  public func makeAsyncIterator() -> RequestStream { self }

  /// The next request, or nil after the last.
  public mutating func next() async throws(RPCError) -> Element? { try await call.receive(Element.self) }

  /// The next request, or nil after the last.
  public mutating func next(isolation actor: isolated (any Actor)?) async throws(RPCError) -> Element? {
    try await call.receive(Element.self)
  }

  /// The one request of a call that has exactly one.
  ///
  /// - Throws: ``RPCError`` with ``StatusCode/unimplemented`` when there is none or more than one, as gRPC asks.
  public mutating func only() async throws(RPCError) -> Element {
    guard let request = try await next() else { throw RPCError(.unimplemented, "the call ended without a request message") }
    guard try await next() == nil else { throw RPCError(.unimplemented, "the call has more than one request message") }
    return request
  }
}

/// Where a handler writes the responses of a call.
public struct ResponseWriter<Response: Message>: Sendable {
  private let call: any ServerCall

  /// Writes the responses of `call`.
  public init(_ call: any ServerCall) { self.call = call }

  /// Sends a response; suspends while the caller reads more slowly than the handler writes.
  public func write(_ response: Response) async throws(RPCError) { try await call.send(response) }
}
