/// The wait between failing connection attempts: exponential with jitter, as gRPC's connection-backoff document describes.
public struct ConnectionBackoff: Sendable {
  /// The wait after the first failure.
  public var initial = Duration.seconds(1)
  /// What each further failure multiplies it by.
  public var multiplier = 1.6
  /// The longest wait.
  public var maximum = Duration.seconds(120)
  /// How far a wait strays from its length, to both sides, as a part of it.
  public var jitter = 0.2

  /// The defaults of gRPC.
  public init() {}

  /// The wait after so many failures in a row (at least one).
  public func delay(after failures: Int) -> Duration {
    var seconds = initial / .seconds(1)
    for _ in 1..<max(failures, 1) { seconds = min(seconds * multiplier, maximum / .seconds(1)) }
    return .seconds(seconds * Double.random(in: (1 - jitter)...(1 + jitter)))
  }
}
