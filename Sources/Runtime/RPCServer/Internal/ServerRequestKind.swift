internal import Glibc
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
    let isGRPC = Self.isGRPC(headers)
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
      } else if !headers.value(.method, is: "POST") {
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
  private static func isGRPC(_ headers: HeaderBlock) -> Bool {
    if headers.value(.contentType, is: "application/grpc") || headers.value(.contentType, is: "application/grpc+proto") {
      return true
    }
    return headers.value(.contentType)?.starts(with: "application/grpc;".utf8) ?? false
  }

  private static func withoutQuery(_ path: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard let base = path.baseAddress, let mark = memchr(base, Int32(UInt8(ascii: "?")), path.count) else { return path }
    return UnsafeRawBufferPointer(start: base, count: UnsafeRawPointer(mark) - base)
  }
}
