import RPC
import Synchronization
import WellKnown

/// `grpc.health.v1.Health` of a process that serves from its start until it drains.
final class Health: Sendable {
  private struct State {
    var isStopping = false
    var watchers: [Int: AsyncStream<Void>.Continuation] = [:]
    var nextWatcher = 0
  }

  private let services: Set<String>
  private let state = Mutex(State())

  init(services: [String]) { self.services = Set(services) }

  var routes: ServiceRoutes { GRPCHealthV1.Health.routes(Handlers(health: self)) }

  /// Everyone who asks from now on is told that nothing is served; watches end.
  func stop() {
    let watchers = state.withLock { state in
      state.isStopping = true
      defer { state.watchers = [:] }
      return state.watchers.values
    }
    for watcher in watchers { watcher.finish() }
  }

  private var status: GRPCHealthV1.HealthCheckResponse.ServingStatus {
    state.withLock { $0.isStopping ? .notServing : .serving }
  }

  /// Returns when the process stops or the caller leaves.
  private func untilStop() async {
    let (stopped, continuation) = AsyncStream.makeStream(of: Void.self)
    let id = state.withLock { state -> Int in
      if state.isStopping { continuation.finish() }
      state.nextWatcher += 1
      state.watchers[state.nextWatcher] = continuation
      return state.nextWatcher
    }
    for await _ in stopped {}
    _ = state.withLock { $0.watchers.removeValue(forKey: id) }
  }

  private struct Handlers: GRPCHealthV1.Health.Handlers {
    let health: Health

    func check(_ request: GRPCHealthV1.HealthCheckRequest, _ call: CallContext) async throws -> GRPCHealthV1.HealthCheckResponse {
      guard isKnown(request.service) else { throw RPCError(.notFound, "unknown service") }
      return .init(status: health.status)
    }

    func list(_ request: GRPCHealthV1.HealthListRequest, _ call: CallContext) async throws -> GRPCHealthV1.HealthListResponse {
      let response = GRPCHealthV1.HealthCheckResponse(status: health.status)
      return .init(statuses: Dictionary(uniqueKeysWithValues: ([""] + health.services).map { ($0, response) }))
    }

    func watch(
      _ request: GRPCHealthV1.HealthCheckRequest, _ responses: ResponseWriter<GRPCHealthV1.HealthCheckResponse>,
      _ call: CallContext
    ) async throws {
      let isKnown = isKnown(request.service)
      try await responses.write(.init(status: isKnown ? health.status : .serviceUnknown))
      await health.untilStop()
      if isKnown, !Task.isCancelled { try await responses.write(.init(status: health.status)) }
    }

    private func isKnown(_ service: String) -> Bool { service.isEmpty || health.services.contains(service) }
  }
}
