internal import PostgreSQL
internal import Synchronization

/// Somebody else writes for the same person, and goes on doing so.
public struct PersonIsBusy: Error, Sendable, Hashable {}

/// Who writes for a person in this process, one at a time.
///
/// Whoever waits for a person's lock in the database holds a connection meanwhile, of which there are few: here the others wait without
/// one, so that no person ever takes more than one of them to wait.
final class PersonTurns: Sendable {
  private struct Place {
    let number: Int
    let turn: AsyncStream<Void>.Continuation
  }

  private struct State {
    /// Those who write, each followed by those who wait for it.
    var lines: [UUID: [Place]] = [:]
    var next = 0
  }

  private let state = Mutex(State())

  /// The longest that somebody waits.
  private static let patience = Duration.seconds(10)
  /// The most of one person, with the one who writes.
  private static let longestLine = 16

  /// Does something when it is its turn.
  ///
  /// - Throws: ``PersonIsBusy`` where the line is too long or does not move, and what `body` throws.
  func taking<Value>(_ user: UUID, _ body: () async throws -> Value) async throws -> Value {
    let (stream, turn) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let (number, isFirst) = try state.withLock { state in
      guard state.lines[user, default: []].count < Self.longestLine else { throw PersonIsBusy() }
      state.next += 1
      state.lines[user, default: []].append(Place(number: state.next, turn: turn))
      return (state.next, state.lines[user]?.count == 1)
    }
    defer { leave(user, number) }
    if !isFirst { try await wait(for: stream) }
    return try await body()
  }

  private func wait(for turn: AsyncStream<Void>) async throws {
    let hasCome: Bool = try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        for await _ in turn { return true }
        return false
      }
      group.addTask {
        try await Task.sleep(for: Self.patience)
        return false
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
    try Task.checkCancellation()
    guard hasCome else { throw PersonIsBusy() }
  }

  /// Whoever leaves the first place, having written or not, makes it the next one's turn.
  private func leave(_ user: UUID, _ number: Int) {
    let next: Place? = state.withLock { state in
      guard var line = state.lines[user], let index = line.firstIndex(where: { $0.number == number }) else { return nil }
      line.remove(at: index)
      state.lines[user] = line.isEmpty ? nil : line
      return index == 0 ? line.first : nil
    }
    next?.turn.yield()
  }
}
