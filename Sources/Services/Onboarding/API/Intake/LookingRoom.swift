/// Where recordings are looked into that are whole in memory for it: a few at once, the others wait in the order in which they came.
actor LookingRoom {
  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// A room for so many at once.
  init(places: Int) { free = places }

  /// Does something when it is its turn.
  nonisolated func use<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
    await enter()
    let result: Result<Value, any Error>
    do {
      // Who waited for long may not be waited for any more.
      try Task.checkCancellation()
      result = .success(try await body())
    } catch { result = .failure(error) }
    await leave()
    return try result.get()
  }

  private func enter() async {
    guard free == 0 else {
      free -= 1
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  private func leave() {
    guard !waiting.isEmpty else {
      free += 1
      return
    }
    waiting.removeFirst().resume()
  }
}
