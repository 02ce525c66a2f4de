/// What a ``Database`` is doing and has done: a snapshot, readable from any thread.
public struct DatabaseStatistics: Sendable, Hashable {
  /// Statements sent since the start, each as often as it was sent.
  public var queries = 0
  /// Round trips that they took: syncs sent since the start.
  public var roundTrips = 0
  /// Statements prepared since the start.
  public var prepared = 0
  /// How often a read connection broke since the start.
  public var reconnects = 0
  /// Reads that were too slow for the shared connection and went to a pool.
  public var slowReads = 0
  /// Reads that wait in memory, those that nobody awaits any more and that have not been met yet among them.
  public var waitingReads = 0
  /// Pool connections at work.
  public var inUse = 0
  /// Pool connections open or being opened.
  public var poolConnections = 0
  /// Attempts to open a pool connection that failed, since the start.
  public var failedConnections = 0
  /// Tasks that wait for a pool connection.
  public var waiting = 0
  /// Tasks that had to wait for a pool connection and got one, since the start.
  public var poolWaits = 0
  /// The nanoseconds that those waited, all together.
  public var poolWaitNanoseconds = 0
  /// Loops whose read connection is open.
  public var readyLoops = 0
  /// Loops in all.
  public var loops = 0

  mutating func add(_ counters: Counters) {
    queries += counters.queries.current
    roundTrips += counters.roundTrips.current
    prepared += counters.prepared.current
    reconnects += counters.reconnects.current
    slowReads += counters.slowReads.current
    waitingReads += counters.waitingReads.current
    inUse += counters.inUse.current
    poolConnections += counters.poolConnections.current
    failedConnections += counters.failedConnections.current
    waiting += counters.waiting.current
    readyLoops += counters.isReady.current
    poolWaits += counters.poolWaits.current
    poolWaitNanoseconds += counters.poolWaitNanoseconds.current
    loops += 1
  }
}
