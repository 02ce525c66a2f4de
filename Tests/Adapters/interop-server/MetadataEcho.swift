import RPC

/// Sends two names of the request's metadata back: one in the headers, one in the trailers.
struct MetadataEcho: ServerInterceptor {
  static let initial = "x-grpc-test-echo-initial"
  static let trailing = "x-grpc-test-echo-trailing-bin"

  func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    for entry in call.metadata.entries {
      switch entry.name {
      case Self.initial: call.initialMetadata.append(entry)
      case Self.trailing: call.trailingMetadata.append(entry)
      default: break
      }
    }
    try await next(call)
  }
}
