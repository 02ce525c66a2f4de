internal import Synchronization
internal import Values

/// Somebody else writes for the same person, and goes on doing so.
public struct PersonIsBusy: Error, Sendable, Hashable {}

/// Who writes for a person in this process, one at a time.
///
/// Whoever waits for a person's lock in the database holds a connection meanwhile, of which there are few: here the others wait without
/// one, so that no person ever takes more than one of them to wait.
final class PersonTurns: Sendable {
  private struct Place {
    let number: Int
    let turn: ChangeSignal
  }

  private struct State {
    /// Those who write, each followed by those who wait for it.
    var lines: [UUID: [Place]] = [:]
    var next = 0
  }

  private let state = Mutex(State())

  /// The longest that somebody waits.
  static let longestWait = Duration.seconds(10)
  /// The most of one person, with the one who writes.
  private static let longestLine = 16

  /// Does something when it is its turn.
  ///
  /// - Parameters:
  ///   - user: Whose turn.
  ///   - longest: How long to wait for it, ``longestWait`` at most.
  ///   - body: What is done.
  /// - Throws: ``PersonIsBusy`` where the line is too long or does not move, and what `body` throws.
  func taking<Value>(_ user: UUID, atMost longest: Duration, _ body: () async throws -> Value) async throws -> Value {
    let turn = ChangeSignal()
    let (number, isFirst) = try state.withLock { state in
      guard state.lines[user, default: []].count < Self.longestLine else { throw PersonIsBusy() }
      state.next += 1
      state.lines[user, default: []].append(Place(number: state.next, turn: turn))
      return (state.next, state.lines[user]?.count == 1)
    }
    defer { leave(user, number) }
    if !isFirst {
      guard try await turn.wait(atMost: min(longest, Self.longestWait)) else { throw PersonIsBusy() }
    }
    return try await body()
  }

  /// Whoever leaves the first place, having written or not, makes it the next one's turn.
  private func leave(_ user: UUID, _ number: Int) {
    let next: Place? = state.withLock { state in
      guard var line = state.lines[user], let index = line.firstIndex(where: { $0.number == number }) else { return nil }
      line.remove(at: index)
      state.lines[user] = line.isEmpty ? nil : line
      return index == 0 ? line.first : nil
    }
    next?.turn.raise()
  }
}
