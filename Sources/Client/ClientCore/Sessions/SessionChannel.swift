public import MessagesCore
public import RPC

/// A channel whose calls are made in the name of the person that a ``SessionKeeper`` keeps signed in.
///
/// Methods that ask for a session get the access token; all others, and calls that bring credentials of their own, go out as they
/// are. A unary call that is refused because its token has run out is repeated once with a new one. A stream is not repeated, since
/// its messages have been seen; the next one has the new token.
public struct SessionChannel: Channel {
  /// The way to the service.
  public let base: any Channel
  /// Who has the tokens.
  public let keeper: SessionKeeper

  /// A channel over another one.
  public init(_ base: any Channel, keeper: SessionKeeper) {
    self.base = base
    self.keeper = keeper
  }

  /// Makes a unary call.
  ///
  /// - Throws: ``RPC/RPCError``: the call's own, or why there is no token.
  public func unary<Request: Message, Response: Message>(
    _ method: MethodDescriptor<Request, Response>, _ request: Request, _ options: CallOptions
  ) async throws(RPCError) -> ClientResponse<Response> {
    guard Self.needsSession(method.info, options) else { return try await base.unary(method, request, options) }
    let token = try await token(options)
    do {
      return try await base.unary(method, request, options.with(bearer: token))
    } catch {
      guard let next = await within(options, { await keeper.answer(to: error, token: token) }) ?? nil else { throw error }
      return try await base.unary(method, request, options.with(bearer: next))
    }
  }

  /// Makes a call of any kind for as long as `body` runs.
  ///
  /// - Throws: What `body` throws; ``RPC/RPCError`` when the call cannot begin or there is no token.
  public func stream<Request: Message, Response: Message, Result: Sendable>(
    _ method: MethodDescriptor<Request, Response>, _ options: CallOptions,
    _ body: (ClientStream<Request, Response>) async throws -> Result
  ) async throws -> Result {
    guard Self.needsSession(method.info, options) else { return try await base.stream(method, options, body) }
    let token = try await token(options)
    do {
      return try await base.stream(method, options.with(bearer: token), body)
    } catch let error as RPCError {
      _ = await within(options) { await keeper.answer(to: error, token: token) }
      throw error
    }
  }

  private static func needsSession(_ method: MethodInfo, _ options: CallOptions) -> Bool {
    (method.access == .session || method.access == .subscribed) && options.metadata["authorization"] == nil
  }

  private func token(_ options: CallOptions) async throws(RPCError) -> String {
    let outcome = await within(options) { () -> Swift.Result<String, RPCError> in
      do throws(RPCError) { return .success(try await keeper.accessToken()) } catch { return .failure(error) }
    }
    guard let outcome else { throw RPCError(.deadlineExceeded, "the deadline passed before there was an access token") }
    return try outcome.get()
  }

  /// What `body` returns, or nil when the call's deadline passes before it does. What the keeper has begun goes on.
  private func within<Value: Sendable>(
    _ options: CallOptions, _ body: @escaping @Sendable () async -> Value
  ) async -> Value? {
    guard let deadline = options.effectiveDeadline else { return await body() }
    return await withTaskGroup(of: Value?.self) { group in
      group.addTask { await body() }
      group.addTask {
        try? await Task.sleep(for: min(deadline.timeLeft, .seconds(31_536_000)))
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }
}

extension CallOptions {
  /// The same with a token.
  func with(bearer token: String) -> CallOptions {
    var options = self
    options.metadata["authorization"] = "Bearer \(token)"
    return options
  }
}
