public import MessagesCore

/// Calls by the kind of their method, as generated clients make them.
extension Channel {
  /// Sends one request and reads responses for as long as `body` runs; when it returns or throws before the last one, the call is
  /// cancelled.
  ///
  /// - Throws: What `body` throws, which is the call's status where it reads that far; ``RPCError`` when the call cannot begin.
  public func serverStreaming<Request: Message, Response: Message, Result: Sendable>(
    _ method: MethodDescriptor<Request, Response>, _ request: Request, _ options: CallOptions,
    _ body: (ResponseStream<Response>) async throws -> Result
  ) async throws -> Result {
    try await stream(method, options) { call in
      try await Self.untilEnded {
        try await call.send(request)
        try await call.finishSending()
      }
      return try await body(call.responses)
    }
  }

  /// Sends the requests that `body` writes, then waits for the one response. A server that answers before it has read all is
  /// right to: what `body` writes then throws, and the response counts.
  ///
  /// - Throws: The call's status, or what `body` throws.
  public func clientStreaming<Request: Message, Response: Message>(
    _ method: MethodDescriptor<Request, Response>, _ options: CallOptions,
    _ body: (RequestWriter<Request>) async throws -> Void
  ) async throws -> Response {
    try await stream(method, options) { call in
      try await Self.untilEnded {
        try await body(call.requests)
        try await call.finishSending()
      }
      var responses = call.responses
      return try await responses.only()
    }
  }

  /// Requests that a server has no more use for are no failure.
  private static func untilEnded(_ send: () async throws -> Void) async throws {
    do { try await send() } catch let error as RPCError where error.cause is CallHasEnded {}
  }
}
