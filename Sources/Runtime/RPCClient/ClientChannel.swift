public import EventLoop
internal import HTTP2
public import MessagesCore
public import RPC

/// A way to a service over HTTP/2: one connection per loop, made when it is first needed and made again when it is lost.
///
/// A call made on one of the group's loops uses that loop's connection and never leaves it; a call from elsewhere hops to the
/// first loop and back.
public final class ClientChannel: Channel {
  /// Where it leads.
  public let target: ChannelTarget
  let configuration: ClientChannelConfiguration
  let loops: [ClientLoop]
  let interceptors: ClientInterceptorChain

  /// A channel that has not connected yet.
  public init(to target: ChannelTarget, on group: EventLoopGroup, configuration: ClientChannelConfiguration = .init()) {
    self.target = target
    self.configuration = configuration
    interceptors = ClientInterceptorChain(configuration.interceptors)
    let context = ClientChannelContext(target, on: group, configuration)
    loops = group.loops.map { ClientLoop($0, context) }
  }

  deinit {
    // A channel that nobody closed must not leave connections and timers behind on its loops.
    for part in loops { part.loop.execute { part.close() } }
  }

  /// Makes a unary call; see ``Channel``.
  public func unary<Request: Message, Response: Message>(
    _ method: MethodDescriptor<Request, Response>, _ request: Request, _ options: CallOptions
  ) async throws(RPCError) -> ClientResponse<Response> {
    let home = home()
    return try await home.loop.visit { () async throws(RPCError) in try await self.intercepted(method, request, options, on: home)
    }
  }

  /// Ends every connection once its calls are done; calls made afterwards are UNAVAILABLE.
  public func close() async {
    for part in loops { await part.loop.visit(ifStopped: ()) { part.close() } }
  }

  func home() -> ClientLoop {
    if let current = EventLoop.current, let part = loops.first(where: { $0.loop === current }) { return part }
    return loops[0]
  }

  private func intercepted<Request: Message, Response: Message>(
    _ method: MethodDescriptor<Request, Response>, _ request: Request, _ options: CallOptions, on part: ClientLoop
  ) async throws(RPCError) -> ClientResponse<Response> {
    guard !interceptors.isEmpty else { return try await part.unary(method, request, options) }
    return try await interceptors.unary(method.info, options) { (options) async throws(RPCError) in
      try await part.unary(method, request, options)
    }
  }
}
