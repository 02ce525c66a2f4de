public import Foundation

/// The time of day, by which tokens run out, and waiting.
public protocol WallClock: Sendable {
  /// The time.
  func now() -> Date

  /// Returns after `duration`, or throws when the task is cancelled.
  func sleep(for duration: Duration) async throws
}

/// The device's clock.
public struct SystemWallClock: WallClock {
  /// The device's clock.
  public init() {}

  /// The time.
  public func now() -> Date { Date() }

  /// Returns after `duration`, or throws when the task is cancelled.
  public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

extension Date {
  /// The time between two, as a date has it.
  func advanced(by duration: Duration) -> Date { addingTimeInterval(duration / .seconds(1)) }
}
