public import MessagesCore

/// One method with the code that serves it, with the types of its messages folded in.
public struct MethodRoute: Sendable {
  /// Serves a call from its first message to its last; returning is OK, throwing is the status.
  public typealias Serve = @Sendable (any ServerCall) async throws -> Void

  /// The method.
  public let method: MethodInfo
  /// The code that serves it.
  public var serve: Serve
  /// Whether its calls go on for as long as their callers like and mean nothing to anybody: a server that drains ends them as
  /// UNAVAILABLE instead of waiting for them.
  public var endsWithServer = false
  /// How large its requests may be; nil for what holds for all methods of the server.
  public var requestLimit: RequestLimit?

  /// Joins a method with the code that serves it.
  public init(_ method: MethodInfo, _ serve: @escaping Serve) {
    self.method = method
    self.serve = serve
  }

  /// One request, one response.
  @inlinable
  public static func unary<Request, Response>(
    _ method: MethodDescriptor<Request, Response>,
    _ handler: @escaping @Sendable (consuming Request, CallContext) async throws -> Response
  ) -> MethodRoute {
    MethodRoute(method.info) { call in
      // Apart, since a path that may wait has the task look for its executor where both of them meet.
      guard let slots = try call.requestSlots(Request.descriptor) else { return try await serve(call, handler) }
      let request = Request(slots: slots)
      call.finishRequest()
      let response = try await handler(request, CallContext(call))
      guard let slots = try call.responseSlots(Response.descriptor) else { return try await call.unaryResponse(response) }
      response.fill(slots)
      _ = try withExtendedLifetime(response) { () throws(RPCError) in try call.sendResponse(slots) }
    }
  }

  /// A unary call whose request is not at hand as slots: other encodings, compressed, or asked for from elsewhere.
  @usableFromInline
  static func serve<Request: Message, Response: Message>(
    _ call: any ServerCall, _ handler: @Sendable (consuming Request, CallContext) async throws -> Response
  ) async throws {
    let request = try await call.unaryRequest(Request.self)
    try await call.unaryResponse(try await handler(request, CallContext(call)))
  }

  /// One request, many responses.
  @inlinable
  public static func serverStreaming<Request, Response>(
    _ method: MethodDescriptor<Request, Response>,
    _ handler: @escaping @Sendable (Request, ResponseWriter<Response>, CallContext) async throws -> Void
  ) -> MethodRoute {
    MethodRoute(method.info) { call in
      var requests = RequestStream<Request>(call)
      let request = try await requests.only()
      try await handler(request, ResponseWriter(call), CallContext(call))
    }
  }

  /// Many requests, one response.
  @inlinable
  public static func clientStreaming<Request, Response>(
    _ method: MethodDescriptor<Request, Response>,
    _ handler: @escaping @Sendable (RequestStream<Request>, CallContext) async throws -> Response
  ) -> MethodRoute {
    MethodRoute(method.info) { call in
      try await call.send(try await handler(RequestStream(call), CallContext(call)))
    }
  }

  /// Many requests, many responses.
  @inlinable
  public static func bidirectional<Request, Response>(
    _ method: MethodDescriptor<Request, Response>,
    _ handler: @escaping @Sendable (RequestStream<Request>, ResponseWriter<Response>, CallContext) async throws -> Void
  ) -> MethodRoute {
    MethodRoute(method.info) { call in
      try await handler(RequestStream(call), ResponseWriter(call), CallContext(call))
    }
  }
}

/// How large the requests of one method may be, where that is not what holds for all.
public struct RequestLimit: Sendable, Hashable {
  /// The most bytes of one request message, after decompression.
  public let bytes: Int
  /// The method that takes more: callers of a larger request are told of it; nil where none does.
  public let alternative: String?
  /// Which large requests this method's wait for.
  public let room: String

  /// The room of those that name no other.
  public static let room = "requests"

  /// A limit.
  public init(bytes: Int, alternative: String? = nil, room: String = RequestLimit.room) {
    self.bytes = bytes
    self.alternative = alternative
    self.room = room
  }

  /// What a larger request is answered with: RESOURCE_EXHAUSTED `REQUEST_TOO_LARGE`, whose metadata say `limit`, and `alternative` where
  /// there is one.
  ///
  /// - Parameter domain: The package of the method.
  public func refusal(_ domain: String) -> RPCError {
    var metadata = ["limit": "\(bytes)"]
    metadata["alternative"] = alternative
    return RPCError(
      .resourceExhausted, "the request has more than \(bytes) bytes" + (alternative.map { ": use \($0)" } ?? ""),
      details: [.errorInfo(reason: "REQUEST_TOO_LARGE", domain: domain, metadata: metadata)])
  }
}

/// A service and the code that serves its methods.
public struct ServiceRoutes: Sendable {
  /// The service.
  public let descriptor: ServiceDescriptor
  /// Its methods.
  public var methods: [MethodRoute]

  /// Joins a service with the code that serves its methods; generated code calls this.
  public init(_ descriptor: ServiceDescriptor, _ methods: [MethodRoute]) {
    self.descriptor = descriptor
    self.methods = methods
  }

  /// These routes, with one method whose requests may be larger or must be smaller than others'.
  ///
  /// Calls that may bring larger ones pass their interceptors before the request is received, and wait for those of the same room when
  /// there are too many: see ``CallContext/letGoOfRequest()``.
  ///
  /// - Parameters:
  ///   - method: Its name, `Complete`. A name that the service does not have is a programmer's mistake.
  ///   - limit: The limit.
  public func limiting(_ method: String, to limit: RequestLimit) -> ServiceRoutes {
    var routes = self
    guard let index = routes.methods.firstIndex(where: { $0.method.name == method }) else {
      preconditionFailure("\(descriptor.name) has no method \(method)")
    }
    routes.methods[index].requestLimit = limit
    let serve = routes.methods[index].serve
    routes.methods[index].serve = { call in
      defer { call.letGoOfRequest() }
      try await call.awaitRequest()
      try await serve(call)
    }
    return routes
  }

  /// These routes, with calls that a server ends when it drains: see ``MethodRoute/endsWithServer``.
  public func endingWithServer() -> ServiceRoutes {
    var routes = self
    for index in routes.methods.indices { routes.methods[index].endsWithServer = true }
    return routes
  }
}
