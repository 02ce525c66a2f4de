public import PostgreSQL
internal import RPC
internal import Synchronization

/// What each call has cost the database, for tests that count it; a service that is started with one counts.
public final class CallCosts: Sendable {
  /// One call that has ended.
  public struct Entry: Sendable, Hashable {
    /// The method's path: `/parley.auth.v1.AuthService/GetProfile`.
    public let path: String
    /// Whether the handler threw nothing.
    public let isAnswered: Bool
    /// What was counted until it returned.
    public let cost: StatementMeter.Cost
    /// The statements that it ran.
    public let statements: Set<StatementMeter.Statement>
  }

  /// All that the service runs, whoever asks for it: calls, plain HTTP, background jobs.
  public let all = StatementMeter()

  private let entries = Mutex<[Entry]>([])

  /// Knows of no call.
  public init() {}

  /// All calls that have ended since the last time somebody asked.
  public func take() -> [Entry] {
    entries.withLock { entries in
      defer { entries = [] }
      return entries
    }
  }

  func add(_ entry: Entry) { entries.withLock { $0.append(entry) } }
}

/// Counts each call with all that stands before its handler: guards, limits, repeated requests.
struct CallCostInterceptor: ServerInterceptor {
  let costs: CallCosts

  func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    let meter = StatementMeter(within: costs.all)
    do {
      try await StatementMeter.$current.withValue(meter) { try await next(call) }
      costs.add(.init(path: call.method.path, isAnswered: true, cost: meter.cost, statements: meter.statements))
    } catch {
      costs.add(.init(path: call.method.path, isAnswered: false, cost: meter.cost, statements: meter.statements))
      throw error
    }
  }
}
