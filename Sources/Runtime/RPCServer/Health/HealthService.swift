public import RPC
internal import WellKnown

/// `grpc.health.v1.Health` over a ``HealthStatus``.
///
/// All services of a process share one fate, so each of them answers what the process as a whole answers.
public struct HealthService: Sendable {
  private let status: HealthStatus

  /// Serves `status`.
  public init(_ status: HealthStatus) { self.status = status }

  /// The routes, for the server.
  ///
  /// A `Watch` ends with ``HealthStatus/finish()``, after the news that nothing is served; where nobody calls that, it ends as
  /// UNAVAILABLE when the server drains.
  public var routes: ServiceRoutes { GRPCHealthV1.Health.routes(Handlers(status: status)).endingWithServer() }

  private struct Handlers: GRPCHealthV1.Health.Handlers {
    let status: HealthStatus

    func check(_ request: GRPCHealthV1.HealthCheckRequest, _ call: CallContext) async throws -> GRPCHealthV1.HealthCheckResponse {
      guard isKnown(request.service) else { throw RPCError(.notFound, "unknown service") }
      return response(status.isServing)
    }

    func list(_ request: GRPCHealthV1.HealthListRequest, _ call: CallContext) async throws -> GRPCHealthV1.HealthListResponse {
      let response = response(status.isServing)
      return .init(statuses: Dictionary(uniqueKeysWithValues: ([""] + status.services).map { ($0, response) }))
    }

    func watch(
      _ request: GRPCHealthV1.HealthCheckRequest, _ responses: ResponseWriter<GRPCHealthV1.HealthCheckResponse>,
      _ call: CallContext
    ) async throws {
      // What a process serves never changes, so this one answer stands until the caller leaves or the server does.
      let isKnown = isKnown(request.service)
      if !isKnown { try await responses.write(.init(status: .serviceUnknown)) }
      for await isServing in status.changes() where isKnown { try await responses.write(response(isServing)) }
    }

    private func isKnown(_ service: String) -> Bool { service.isEmpty || status.services.contains(service) }

    private func response(_ isServing: Bool) -> GRPCHealthV1.HealthCheckResponse {
      .init(status: isServing ? .serving : .notServing)
    }
  }
}
