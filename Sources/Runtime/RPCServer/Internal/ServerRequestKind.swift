internal import ConnectWire
internal import Glibc
internal import HTTP2
internal import RPC
internal import RPCWire

/// What a request is, as far as its headers tell.
enum ServerRequestKind {
  /// A call of a known method.
  case rpc(ServedMethod, WireProtocol, MessageCodec)
  /// A unary Connect call by GET.
  case connectGet(ServedMethod, ConnectGetRequest, MessageCodec)
  /// A call that ends before it begins, of a method where the path leads to one; `httpStatus` stands in for the one that Connect gives
  /// to the error.
  case refusedRPC(RPCError, WireProtocol, MessageCodec, httpStatus: Int?, of: ServedMethod? = nil)
  /// A plain HTTP request, with what answers it, and the route when it has one.
  case http(HTTPRoute.Handler, RouteEntry? = nil)

  init(_ headers: HeaderBlock, _ server: ServerLoop) {
    let (path, query) = Self.split(headers.value(.path) ?? UnsafeRawBufferPointer(start: nil, count: 0))
    let entry = server.routes.entry(for: path)?.takeUnretainedValue()
    let type = headers.value(.contentType).map { WireContentType.parse($0) } ?? .other
    guard !headers.isTooLarge else {
      let error = RPCError.headersTooLarge(limit: server.configuration.http2.headerListBytes)
      self = Self.refused(entry, type, error, server.refusal(.headersTooLarge, of: entry?.http))
      return
    }
    switch entry?.target {
    case .rpc(let route): self = Self.call(of: route, type, query, headers, server)
    case .http(let route): self = .http(route.handler, entry)
    case nil: self = Self.unknown(type, headers, server)
    }
  }

  /// What most requests are, a call of a known method by POST, told without the detours that everything else may take.
  @inline(__always)
  static func plainCall(_ headers: HeaderBlock, _ server: ServerLoop) -> (Unmanaged<RouteEntry>, WireProtocol, MessageCodec)? {
    guard !headers.isTooLarge, let path = headers.value(.path), let entry = server.routes.entry(for: path),
      headers.value(.method, is: "POST"), let type = headers.value(.contentType),
      case .known(let wire, let codec) = WireContentType.parse(type),
      entry._withUnsafeGuaranteedRef({ $0.method.map { suits(wire, $0.kind) } ?? false })
    else { return nil }
    return (entry, wire, codec)
  }

  private static func call(
    of route: ServedMethod, _ type: WireContentType, _ query: UnsafeRawBufferPointer, _ headers: HeaderBlock, _ server: ServerLoop
  ) -> ServerRequestKind {
    guard headers.value(.method, is: "POST") else { return other(route, query, headers, server) }
    guard case .known(let wire, let codec) = type, suits(wire, route.kind) else {
      return .http(server.refusal(.unsupportedMediaType(accepted: contentTypes(route.kind))))
    }
    return .rpc(route, wire, codec)
  }

  /// A request of a method's path that is no POST: Connect's GET, a preflight, or nothing that is served.
  private static func other(
    _ route: ServedMethod, _ query: UnsafeRawBufferPointer, _ headers: HeaderBlock, _ server: ServerLoop
  ) -> ServerRequestKind {
    if let cors = server.configuration.cors, headers.value(.method, is: "OPTIONS"),
      headers.text(named: "access-control-request-method") != nil
    {
      return .http { request in
        HTTPServerResponse(
          204,
          headers: cors.preflightFields(for: request.header("origin"), asking: request.header("access-control-request-headers")))
      }
    }
    let allowsGet = route.kind == .unary && route.method.idempotency == .noSideEffects
    guard allowsGet, headers.value(.method, is: "GET") else {
      return .http(server.refusal(.wrongMethod(allowed: allowsGet ? "GET, POST" : "POST")))
    }
    let request = ConnectGetRequest(query: query)
    guard let codec = request.codec else { return .http(server.refusal(.unsupportedMediaType(accepted: nil))) }
    return .connectGet(route, request, codec)
  }

  /// A path that nothing is registered for.
  private static func unknown(_ type: WireContentType, _ headers: HeaderBlock, _ server: ServerLoop) -> ServerRequestKind {
    let error = { RPCError(.unimplemented, "unknown method \((headers.text(.path) ?? "").prefix(200))") }
    switch type {
    case .known(.connectUnary, .json) where headers.text(named: ConnectHeaders.protocolVersion) == nil:
      // JSON is posted for many reasons: without a word of Connect it is plain HTTP.
      break
    case .known(let wire, let codec):
      return .refusedRPC(error(), wire, codec, httpStatus: wire == .connectUnary ? 404 : nil)
    case .unknownCodec(let wire) where wire == .grpc: return .refusedRPC(error(), wire, .proto, httpStatus: nil)
    case .unknownCodec, .other: break
    }
    return .http(server.fallback ?? server.refusal(.noSuchPath))
  }

  /// What a request is whose client has done too much that is of no use.
  static func unwelcome(_ headers: HeaderBlock, _ server: ServerLoop) -> ServerRequestKind {
    let (path, _) = split(headers.value(.path) ?? UnsafeRawBufferPointer(start: nil, count: 0))
    let type = headers.value(.contentType).map { WireContentType.parse($0) } ?? .other
    let entry = server.routes.entry(for: path)?.takeUnretainedValue()
    return refused(entry, type, .overloaded, server.refusal(.unwelcome, of: entry?.http))
  }

  /// Refuses a request in the terms of its protocol, as far as its path and its type tell; `answer` is for plain HTTP.
  private static func refused(
    _ entry: RouteEntry?, _ type: WireContentType, _ error: RPCError, _ answer: @escaping HTTPRoute.Handler
  ) -> ServerRequestKind {
    if case .known(let wire, let codec) = type {
      // Of JSON alone nobody knows whether it is Connect; the path tells.
      if case .rpc(let route) = entry?.target { return .refusedRPC(error, wire, codec, httpStatus: nil, of: route) }
      if wire != .connectUnary { return .refusedRPC(error, wire, codec, httpStatus: nil) }
    } else if case .rpc(let route) = entry?.target {
      // The content type may be among the fields that were not kept.
      return .refusedRPC(error, .grpc, .proto, httpStatus: nil, of: route)
    }
    return .http(answer)
  }

  /// Whether calls of this kind travel in this protocol: Connect has one for single messages and one for streams.
  private static func suits(_ wire: WireProtocol, _ kind: MethodKind) -> Bool {
    switch wire {
    case .grpc, .grpcWeb: true
    case .connectUnary: kind == .unary
    case .connectStream: kind != .unary
    }
  }

  private static func contentTypes(_ kind: MethodKind) -> String {
    let connect: WireProtocol = kind == .unary ? .connectUnary : .connectStream
    return [connect, .grpc, .grpcWeb].flatMap { wire in MessageCodec.allCases.map(wire.contentType) }.joined(separator: ", ")
  }

  private static func split(_ target: UnsafeRawBufferPointer) -> (path: UnsafeRawBufferPointer, query: UnsafeRawBufferPointer) {
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    guard let base = target.baseAddress, let mark = memchr(base, Int32(UInt8(ascii: "?")), target.count) else {
      return (target, none)
    }
    let count = UnsafeRawPointer(mark) - base
    return (
      UnsafeRawBufferPointer(start: base, count: count),
      UnsafeRawBufferPointer(start: base + count + 1, count: target.count - count - 1)
    )
  }
}
