public import EventLoop
internal import Glibc

/// Time and chance as providers see them; tests put in their own.
public struct ProviderClock: Sendable {
  /// The monotonic clock: how long keys and tokens live.
  public var now: @Sendable () -> MonotonicInstant
  /// Seconds since 1970: the claims of tokens.
  public var unixSeconds: @Sendable () -> Int64
  /// A number in 0..<1, for jitter.
  public var random: @Sendable () -> Double
  /// Waits between two attempts.
  public var sleep: @Sendable (Duration) async throws -> Void

  /// A clock from its parts.
  public init(
    now: @escaping @Sendable () -> MonotonicInstant, unixSeconds: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> Double, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.now = now
    self.unixSeconds = unixSeconds
    self.random = random
    self.sleep = sleep
  }

  /// The machine's own; sleeps on the loop of the caller, else on `loop`.
  ///
  /// - Parameters:
  ///   - loop: Where callers sleep that are on no loop.
  ///   - unixSeconds: The time of day, where it is another one than the machine's.
  public static func system(
    on loop: EventLoop, unixSeconds: (@Sendable () -> Int64)? = nil
  ) -> ProviderClock {
    ProviderClock(
      now: { .now() }, unixSeconds: unixSeconds ?? { Int64(time(nil)) }, random: { Double.random(in: 0..<1) },
      sleep: { try await (EventLoop.current ?? loop).sleep(for: $0) })
  }
}
