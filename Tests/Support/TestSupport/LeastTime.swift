import EventLoop

/// The least time that `body` took, of at most `attempts` runs; the first that meets `bound` is the last.
///
/// A bound of behaviour ("gives up within 250 ms") is a statement about the code, and a machine that stands still for a moment does
/// not refute it. Code that cannot meet the bound never does, however often it is run.
public func leastTime(
  within bound: Duration, attempts: Int = 5, _ body: () async throws -> Void
) async rethrows -> Duration {
  var least = Duration.seconds(Int64.max)
  for _ in 0..<attempts where least >= bound {
    let start = MonotonicInstant.now()
    try await body()
    least = min(least, MonotonicInstant.now().duration(since: start))
  }
  return least
}
