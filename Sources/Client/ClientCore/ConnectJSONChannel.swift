public import Foundation
public import MessagesCore
public import RPC

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// A channel over URLSession that speaks the Connect protocol with messages in JSON.
///
/// It needs nothing but Foundation, so the same generated clients run on a phone. Any HTTP version that URLSession finds will do:
/// unary calls, client streams (sent as one body, once the last request is there) and server streams (message by message, as they
/// come). Calls that stream both ways need HTTP/2 from end to end and are refused with ``RPC/StatusCode/unimplemented``.
///
/// Requests go out uncompressed; responses are restored by URLSession. Redirects are not followed: a call goes to the service it
/// was meant for. There is no back-pressure: responses that were not read yet are kept, up to ``Options/maximumUnreadBytes``.
/// The connections close when the channel goes; calls that are under way end first.
public final class ConnectJSONChannel: Channel {
  /// What every call of a channel has in common.
  public struct Options: Sendable {
    /// Sent along with every call, before the call's own metadata.
    public var metadata: Metadata
    /// The most bytes of JSON that one response message may have, unless the call says otherwise.
    public var maximumResponseBytes: Int
    /// The most bytes of a stream that may have come without being read: beyond, the call fails.
    public var maximumUnreadBytes: Int
    /// A call without side effects whose address would be longer, in bytes, goes by POST all the same.
    public var maximumAddressBytes: Int
    /// The messages that a `google.protobuf.Any` may hold; nil where none occurs.
    public var registry: MessageRegistry?

    /// Options; by default 4 MiB for each message, 16 MiB unread, addresses of 4 KiB.
    public init(
      metadata: Metadata = [:], maximumResponseBytes: Int = 4 << 20, maximumUnreadBytes: Int = 16 << 20,
      maximumAddressBytes: Int = 4 << 10, registry: MessageRegistry? = nil
    ) {
      self.metadata = metadata
      self.maximumResponseBytes = maximumResponseBytes
      self.maximumUnreadBytes = maximumUnreadBytes
      self.maximumAddressBytes = maximumAddressBytes
      self.registry = registry
    }
  }

  /// Where the services are: `https://api.parley.example`, with a path in front of theirs if it has one.
  public let baseURL: URL
  /// What every call has in common.
  public let options: Options
  private let session: URLSession
  private let exchanges: ExchangeDelegate

  /// A channel with a session of its own.
  ///
  /// - Parameters:
  ///   - baseURL: Where the services are, with `http` or `https`.
  ///   - configuration: Timeouts, proxies, caches; by default nothing is stored on disk.
  ///   - options: What every call has in common.
  public init(baseURL: URL, configuration: URLSessionConfiguration = .ephemeral, options: Options = Options()) {
    self.baseURL = baseURL
    self.options = options
    exchanges = ExchangeDelegate()
    session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
  }

  deinit {
    session.finishTasksAndInvalidate()
  }

  /// Makes a unary call.
  ///
  /// - Throws: ``RPCError``: what the server answered, ``StatusCode/unavailable`` when it was not reached,
  ///   ``StatusCode/resourceExhausted`` for a response beyond the limit, ``StatusCode/deadlineExceeded`` and
  ///   ``StatusCode/cancelled`` from this side.
  public func unary<Request: Message, Response: Message>(
    _ method: MethodDescriptor<Request, Response>, _ request: Request, _ options: CallOptions
  ) async throws(RPCError) -> ClientResponse<Response> {
    let call = makeCall(method.info, options)
    return try await call.exchange.guarded(until: call.deadline) { () async throws(RPCError) in
      try await call.send(request, compressed: false)
      try await call.finishSending()
      guard let message = try await call.receive(Response.self) else {
        throw RPCError(.unimplemented, "the server sent no response")
      }
      return ClientResponse(
        message, initialMetadata: try await call.initialMetadata(), trailingMetadata: await call.trailingMetadata(),
        wasCompressed: await call.responseWasCompressed())
    }
  }

  /// Makes a call of any kind but one that streams both ways, for as long as `body` runs.
  ///
  /// - Throws: What `body` throws; ``RPCError`` with ``RPC/StatusCode/unimplemented`` for a method that streams both ways.
  public func stream<Request: Message, Response: Message, Result: Sendable>(
    _ method: MethodDescriptor<Request, Response>, _ options: CallOptions,
    _ body: (ClientStream<Request, Response>) async throws -> Result
  ) async throws -> Result {
    guard method.info.kind != .bidirectional else {
      throw RPCError(.unimplemented, "\(method.info.path) streams both ways, which needs HTTP/2 and a channel that speaks it")
    }
    let call = makeCall(method.info, options)
    return try await call.exchange.guarded(until: call.deadline) { () async throws in
      try await body(ClientStream(call))
    }
  }

  private func makeCall(_ method: MethodInfo, _ callOptions: CallOptions) -> ConnectJSONCall {
    let exchange = Exchange { [session, exchanges] request, exchange in
      let task = session.dataTask(with: request)
      exchanges.add(exchange, for: task)
      return task
    }
    return ConnectJSONCall(method, callOptions, options, baseURL: baseURL, exchange)
  }
}
