import ClientCore
import Foundation
import Synchronization

/// A clock that stands still until somebody sleeps on it or moves it.
final class SteppedClock: WallClock {
  private struct State {
    var now = Date(timeIntervalSince1970: 1_800_000_000)
    var slept: [Duration] = []
  }

  private let state = Mutex(State())

  func now() -> Date { state.withLock { $0.now } }

  /// How long was slept, in order.
  var slept: [Duration] { state.withLock { $0.slept } }

  /// Returns at once; the time has passed.
  func sleep(for duration: Duration) async throws {
    try Task.checkCancellation()
    state.withLock { $0.slept.append(duration) }
    advance(by: duration)
  }

  func advance(by duration: Duration) {
    state.withLock { $0.now.addTimeInterval(duration / .seconds(1)) }
  }
}
