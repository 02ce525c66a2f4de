internal import Synchronization

/// Counts what the statements of a task and its child tasks cost the database: for tests and benchmarks, which bind one around a call.
///
/// ```swift
/// let meter = StatementMeter()
/// try await StatementMeter.$current.withValue(meter) { try await store.rename(note) }
/// #expect(meter.cost.roundTrips == 1)
/// ```
/// Only a database whose configuration has a ``DatabaseConfiguration/meter`` counts: it then asks before each commit whether the
/// server will have to flush it, in the same round trip.
public final class StatementMeter: Sendable {
  /// What was counted.
  public struct Cost: Sendable, Hashable {
    /// Statements, BEGIN, COMMIT and what sets a timeout among them.
    public var statements = 0
    /// Round trips that the task waited for.
    public var roundTrips = 0
    /// Commits that had to wait for the disk.
    public var flushes = 0

    /// Nothing.
    public init() {}
  }

  /// A statement as the server gets it.
  public struct Statement: Sendable, Hashable {
    /// The text, with `$1`, `$2` … for its parameters.
    public let text: String
    /// The types of the parameters, as the server numbers them; 0 where it has to find out.
    public let parameterTypes: [UInt32]
  }

  /// The meter of the task that asks.
  @TaskLocal public static var current: StatementMeter?

  private let whole: StatementMeter?
  private let state = Mutex((cost: Cost(), statements: Set<Statement>()))

  /// A meter that has counted nothing.
  ///
  /// - Parameter whole: Counts all that this one counts, too: a service's, where this one is a call's.
  public init(within whole: StatementMeter? = nil) { self.whole = whole }

  /// What was counted so far.
  public var cost: Cost { state.withLock { $0.cost } }

  /// The statements that were run, each text once, whatever its parameters: `select \(1)` and `select \(2)` are two of ``Cost/statements``
  /// and one here. BEGIN, COMMIT and what sets a timeout may be missing.
  public var statements: Set<Statement> { state.withLock { $0.statements } }

  /// Counts statements that travel together.
  func add(_ queries: [Query]) {
    let statements = queries.map { Statement(text: $0.text, parameterTypes: $0.parameterTypes.map(\.rawValue)) }
    state.withLock {
      $0.cost.statements += statements.count
      $0.cost.roundTrips += 1
      $0.statements.formUnion(statements)
    }
    whole?.add(queries)
  }

  /// Counts statements that are not known, or takes some back.
  func add(statements: Int) {
    state.withLock { $0.cost.statements += statements }
    whole?.add(statements: statements)
  }

  /// Runs as the last statement before a commit: whether the transaction has written anything, and means to wait for the disk.
  ///
  /// The server of tests waits for no disk at all, so what counts is whether the session has asked for that.
  static let probe: Query = """
    select pg_current_xact_id_if_assigned() is not null
      and not exists (select from pg_settings where name = 'synchronous_commit' and source = 'session' and setting = 'off')
    """

  func note(probe result: QueryResult?) {
    guard let result, result.count == 1, let isFlushed = try? result[0].decode(Bool.self, at: 0),
      isFlushed
    else { return }
    addFlush()
  }

  private func addFlush() {
    state.withLock { $0.cost.flushes += 1 }
    whole?.addFlush()
  }
}
