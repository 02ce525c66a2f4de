public import MessagesCore

/// The requests of a call, in order. Reading opens the caller's flow-control window, so a slow reader slows the caller.
public struct RequestStream<Element: Message>: AsyncSequence, AsyncIteratorProtocol, Sendable {
  @usableFromInline let call: any ServerCall

  /// The requests of `call`.
  public init(_ call: any ServerCall) { self.call = call }

  /// The stream itself: there is one reader.
  public func makeAsyncIterator() -> RequestStream { self }

  /// The next request, or nil after the last.
  @inlinable @inline(__always)
  public mutating func next() async throws(RPCError) -> Element? {
    guard let slots = try call.requestSlots(Element.descriptor) else { return try await call.receive(Element.self) }
    defer { call.finishRequest() }
    return Element(slots: slots)
  }

  /// The next request, or nil after the last.
  @inlinable @inline(__always)
  public mutating func next(isolation actor: isolated (any Actor)?) async throws(RPCError) -> Element? {
    guard let slots = try call.requestSlots(Element.descriptor) else { return try await call.receive(Element.self) }
    defer { call.finishRequest() }
    return Element(slots: slots)
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
  @usableFromInline let call: any ServerCall

  /// Writes the responses of `call`.
  public init(_ call: any ServerCall) { self.call = call }

  /// Sends a response; suspends while the caller reads more slowly than the handler writes.
  @inlinable @inline(__always)
  public func write(_ response: Response) async throws(RPCError) {
    guard let slots = try call.responseSlots(Response.descriptor) else { return try await call.send(response) }
    response.fill(slots)
    let hasRoom = try withExtendedLifetime(response) { () throws(RPCError) in try call.sendResponse(slots) }
    if !hasRoom { await call.roomToSend() }
  }
}
