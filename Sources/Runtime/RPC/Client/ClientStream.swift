public import MessagesCore

/// A call of any kind from the caller's side: requests out, responses in, metadata around them.
///
/// It may be used from two tasks at once, one that sends and one that receives. It is over when the scope that opened it ends.
public struct ClientStream<Request: Message, Response: Message>: Sendable {
  private let call: any ClientCall

  /// The messages of `call`.
  public init(_ call: any ClientCall) { self.call = call }

  /// Sends a request; suspends while the server reads more slowly than the caller writes.
  ///
  /// - Parameters:
  ///   - request: The message.
  ///   - compressed: Whether to use the call's compression, if it has one, for this message.
  public func send(_ request: Request, compressed: Bool = true) async throws(RPCError) {
    try await call.send(request, compressed: compressed)
  }

  /// Says that no request follows; responses still come.
  public func finishSending() async throws(RPCError) { try await call.finishSending() }

  /// Where requests are written: ``send(_:compressed:)`` alone, for whoever has no business with the responses.
  public var requests: RequestWriter<Request> { RequestWriter(call) }

  /// The responses, in order. There is one reader.
  public var responses: ResponseStream<Response> { ResponseStream(call) }

  /// The headers of the response, as soon as they have come.
  public func initialMetadata() async throws(RPCError) -> Metadata { try await call.initialMetadata() }

  /// The trailers; empty until the call has ended.
  public func trailingMetadata() async -> Metadata { await call.trailingMetadata() }

  /// Whether the last response received came compressed.
  public func responseWasCompressed() async -> Bool { await call.responseWasCompressed() }

  /// Gives the call up at once; both sides learn it.
  public func cancel() { call.cancel() }
}

/// The responses of a call, in order. Reading lets the server send more, so a slow reader slows the server.
public struct ResponseStream<Element: Message>: AsyncSequence, AsyncIteratorProtocol, Sendable {
  private let call: any ClientCall

  /// The responses of `call`.
  public init(_ call: any ClientCall) { self.call = call }

  /// The stream itself: there is one reader.
  public func makeAsyncIterator() -> ResponseStream { self }

  /// The next response, or nil after the last of a call that succeeded; a call that failed throws its status.
  public mutating func next() async throws(RPCError) -> Element? { try await call.receive(Element.self) }

  /// The next response, or nil after the last of a call that succeeded; a call that failed throws its status.
  public mutating func next(isolation actor: isolated (any Actor)?) async throws(RPCError) -> Element? {
    try await call.receive(Element.self)
  }

  /// The headers of the response, as soon as they have come.
  public func initialMetadata() async throws(RPCError) -> Metadata { try await call.initialMetadata() }

  /// The trailers; empty until the call has ended.
  public func trailingMetadata() async -> Metadata { await call.trailingMetadata() }

  /// The one response of a call that has exactly one.
  ///
  /// - Throws: ``RPCError``: the call's status, or ``StatusCode/unimplemented`` when there is none or more than one.
  public mutating func only() async throws(RPCError) -> Element {
    guard let response = try await next() else { throw RPCError(.unimplemented, "the server sent no response") }
    guard try await next() == nil else { throw RPCError(.unimplemented, "the server sent more than one response") }
    return response
  }
}
