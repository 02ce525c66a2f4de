internal import EventLoop
internal import HTTP2

/// What all loops of a server may use together.
struct ServerBudgets: Sendable {
  /// Handlers that run.
  let handlers: SharedBudget
  /// What waits in memory.
  let memory: HTTP2Budgets

  init(_ configuration: RPCServerConfiguration) {
    handlers = SharedBudget(limit: configuration.maximumRunningHandlers, chunk: 64)
    memory = HTTP2Budgets(configuration.http2)
  }
}
