public import RPC
import WellKnown

/// Tells whether a service answers, and when that changes, by asking it.
///
/// A network that is there says little about a service behind it, so the service itself is asked: by its health, or by whatever the
/// app says. Nothing is asked while nobody listens.
public struct NetworkMonitor: Sendable {
  private let interval: Duration
  private let clock: any WallClock
  private let probe: @Sendable () async -> Bool

  /// A monitor that asks in a way of the app's own.
  ///
  /// - Parameters:
  ///   - interval: How long to wait from one answer to the next question.
  ///   - clock: What waits.
  ///   - probe: Whether the service answers now. It ends by itself, also when nobody answers.
  public init(
    interval: Duration = .seconds(10), clock: any WallClock = SystemWallClock(), probe: @escaping @Sendable () async -> Bool
  ) {
    self.interval = interval
    self.clock = clock
    self.probe = probe
  }

  /// A monitor that asks for a server's health (`grpc.health.v1`).
  ///
  /// - Parameters:
  ///   - channel: The way to the server.
  ///   - service: The full name of the service; empty for the server as a whole.
  ///   - timeout: How long to wait for an answer.
  ///   - interval: How long to wait from one answer to the next question.
  ///   - clock: What waits.
  public init(
    channel: any Channel, service: String = "", timeout: Duration = .seconds(5), interval: Duration = .seconds(10),
    clock: any WallClock = SystemWallClock()
  ) {
    let health = GRPCHealthV1.Health.Client(channel)
    self.init(interval: interval, clock: clock) {
      let answer = try? await health.check(.init(service: service), options: .timeout(timeout))
      return answer?.status == .serving
    }
  }

  /// Whether the service answers now.
  public func isReachable() async -> Bool { await probe() }

  /// Whether the service answers: at once, and then whenever it changes. Questions end with the reader.
  public func changes() -> AsyncStream<Bool> {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
    // Of its own: it lasts as long as somebody reads, wherever that is.
    let asking = Task {
      var last: Bool?
      while !Task.isCancelled {
        let isReachable = await probe()
        guard !Task.isCancelled else { break }
        if isReachable != last { continuation.yield(isReachable) }
        last = isReachable
        do { try await clock.sleep(for: interval) } catch { break }
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in asking.cancel() }
    return stream
  }
}
