internal import EventLoop
internal import Logging
internal import RPCServer

/// The server as one of the things that run: it serves by itself, and drains when it is told to stop.
///
/// To stop is not to be cancelled: calls under way are finished.
final class RunningServer: Sendable {
  private let server: RPCServer
  private let health: HealthStatus
  private let limit: Duration
  private let log: Logger
  private let stopRequested: AsyncStream<Never>
  private let stopRequest: AsyncStream<Never>.Continuation

  /// A server whose listeners are open, which drains within `limit`.
  init(_ server: RPCServer, _ health: HealthStatus, drainingWithin limit: Duration, _ log: Logger) {
    self.server = server
    self.health = health
    self.limit = limit
    self.log = log
    (stopRequested, stopRequest) = AsyncStream.makeStream()
  }

  /// Ends ``run()`` once the calls under way are answered; at once, if that has yet to begin.
  func stop() { stopRequest.finish() }

  /// Serves until ``stop()`` or until its task is cancelled, which is the way out when a job fails; then drains.
  func run() async {
    for await _ in stopRequested {}
    health.startDraining()
    health.finish()
    log.info("draining", metadata: ["limit": "\(limit.configurationText)"])
    let start = MonotonicInstant.now()
    await server.drain(within: limit)
    log.info("drained", metadata: ["took": "\(MonotonicInstant.now().duration(since: start))"])
  }
}
