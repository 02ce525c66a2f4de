internal import HTTP2
internal import RPC
internal import RPCWire

/// What a request is, as far as its headers tell.
enum ServerRequestKind {
  /// A gRPC call of a known method.
  case rpc(MethodRoute)
  /// A gRPC call that ends before it begins.
  case refusedRPC(RPCError)
  /// A plain HTTP request, with what answers it.
  case http(HTTPRoute.Handler)

  init(_ headers: HeaderBlock, _ server: ServerLoop) {
    let entry = headers.value(.path).flatMap { server.routes.entry(for: Self.withoutQuery($0)) }
    let isGRPC = headers.value(.contentType).map(Self.isGRPC) ?? false
    guard !headers.isTooLarge else {
      // The content type may be among the fields that were not kept: the path tells as well.
      if case .rpc = entry?.target {
        self = .refusedRPC(.headersTooLarge(limit: server.configuration.http2.headerListBytes))
      } else {
        self =
          isGRPC
          ? .refusedRPC(.headersTooLarge(limit: server.configuration.http2.headerListBytes))
          : .http { _ in .text(431, "request header fields too large\n") }
      }
      return
    }
    switch entry?.target {
    case .rpc(let route):
      if !isGRPC {
        self = .http { _ in .text(415, "unsupported media type: this path takes application/grpc\n") }
      } else if headers.value(.method)?.elementsEqual("POST".utf8) != true {
        self = .http { _ in .text(405, "method not allowed\n", headers: [("allow", "POST")]) }
      } else {
        self = .rpc(route)
      }
    case .http(let handler):
      self = .http(handler)
    case nil where isGRPC:
      let path = headers.text(.path) ?? ""
      self = .refusedRPC(RPCError(.unimplemented, "unknown method \(path.prefix(200))"))
    case nil:
      self = .http(server.fallback ?? { _ in .text(404, "not found\n") })
    }
  }

  /// `application/grpc`, alone, with a parameter, or with the proto format; not `application/grpc-web`.
  private static func isGRPC(_ type: UnsafeRawBufferPointer) -> Bool {
    let name = "application/grpc"
    guard type.count >= name.utf8.count, type.prefix(name.utf8.count).elementsEqual(name.utf8) else { return false }
    let rest = type.dropFirst(name.utf8.count)
    return rest.isEmpty || rest.first == UInt8(ascii: ";") || rest.elementsEqual("+proto".utf8)
  }

  private static func withoutQuery(_ path: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard let end = path.firstIndex(of: UInt8(ascii: "?")) else { return path }
    return UnsafeRawBufferPointer(rebasing: path[..<end])
  }
}
