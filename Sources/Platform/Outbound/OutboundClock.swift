public import EventLoop
internal import Glibc

/// Time and chance as the client sees them; tests put in their own.
public struct OutboundClock: Sendable {
  /// The monotonic clock, for deadlines and circuits.
  public var now: @Sendable () -> MonotonicInstant
  /// Seconds since 1970, for dates that peers send.
  public var unixSeconds: @Sendable () -> Int64
  /// A number in 0..<1, for jitter.
  public var random: @Sendable () -> Double
  /// Waits between two attempts, on the loop of the request.
  public var sleep: @Sendable (Duration, EventLoop) async throws -> Void

  /// The machine's own.
  public static let system = OutboundClock(
    now: { .now() }, unixSeconds: { Int64(time(nil)) }, random: { Double.random(in: 0..<1) },
    sleep: { duration, loop in try await loop.sleep(for: duration) })

  /// A clock from its parts.
  public init(
    now: @escaping @Sendable () -> MonotonicInstant, unixSeconds: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> Double, sleep: @escaping @Sendable (Duration, EventLoop) async throws -> Void
  ) {
    self.now = now
    self.unixSeconds = unixSeconds
    self.random = random
    self.sleep = sleep
  }
}
