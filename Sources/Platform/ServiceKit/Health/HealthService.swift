internal import MessagesCore
public import RPC
internal import WellKnown

/// `grpc.health.v1.Health` over a ``HealthStatus``.
///
/// All services of a process share one fate, so each of them answers what the process as a whole answers.
public struct HealthService: Sendable {
  private typealias Request = GRPCHealthV1.HealthCheckRequest
  private typealias Response = GRPCHealthV1.HealthCheckResponse
  private static let name = "grpc.health.v1.Health"
  private static let check = MethodDescriptor<Request, Response>(
    service: name, name: "Check", kind: .unary, access: .public, idempotency: .noSideEffects)
  private static let list = MethodDescriptor<GRPCHealthV1.HealthListRequest, GRPCHealthV1.HealthListResponse>(
    service: name, name: "List", kind: .unary, access: .public, idempotency: .noSideEffects)
  private static let watch = MethodDescriptor<Request, Response>(
    service: name, name: "Watch", kind: .serverStreaming, access: .public, idempotency: .noSideEffects)

  private let status: HealthStatus

  /// Serves `status`.
  public init(_ status: HealthStatus) { self.status = status }

  /// The routes, for the server.
  public var routes: ServiceRoutes {
    let status = status
    return ServiceRoutes(
      ServiceDescriptor(name: Self.name, methods: [Self.check.info, Self.list.info, Self.watch.info]),
      [
        .unary(Self.check) { request, _ in
          guard Self.isKnown(request.service, status) else { throw RPCError(.notFound, "unknown service") }
          return Self.response(status.isServing)
        },
        .unary(Self.list) { _, _ in
          let response = Self.response(status.isServing)
          return .init(statuses: Dictionary(uniqueKeysWithValues: ([""] + status.services).map { ($0, response) }))
        },
        .serverStreaming(Self.watch) { request, writer, _ in
          // A service may appear later in general; here the set is fixed, so the one answer stands until the caller leaves.
          let isKnown = Self.isKnown(request.service, status)
          if !isKnown { try await writer.write(.init(status: .serviceUnknown)) }
          for await isServing in status.changes() where isKnown { try await writer.write(Self.response(isServing)) }
        },
      ])
  }

  /// Asks the server behind `channel` whether it serves; for the command `health`.
  static func isServing(_ channel: some Channel, service: String, _ options: CallOptions) async throws(RPCError) -> Bool {
    let response = try await channel.unary(check, Request(service: service), options)
    return response.message.status == .serving
  }

  private static func isKnown(_ service: String, _ status: HealthStatus) -> Bool {
    service.isEmpty || status.services.contains(service)
  }

  private static func response(_ isServing: Bool) -> Response { Response(status: isServing ? .serving : .notServing) }
}
