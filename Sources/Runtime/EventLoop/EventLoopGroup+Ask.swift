internal import Synchronization

extension EventLoopGroup {
  /// Asks every loop something, for whoever shows what goes on: a loop that is stuck holds nobody up.
  ///
  /// - Parameters:
  ///   - limit: How long to wait for the last answer.
  ///   - body: Runs on each loop between its other work, so it must be short.
  /// - Returns: The answers in the order of ``loops``; nil for a loop that gave none in time.
  public func ask<Answer: Sendable>(
    within limit: Duration, _ body: @escaping @Sendable (EventLoop) -> Answer
  ) async -> [Answer?] {
    let answers = LoopAnswers<Answer>(count: loops.count)
    for (index, loop) in loops.enumerated() {
      if !loop.execute({ answers.add(body(loop), of: index) }) { answers.add(nil, of: index) }
    }
    return await withTaskGroup(of: [Answer?].self) { tasks in
      tasks.addTask { await answers.all() }
      tasks.addTask {
        try? await Task.sleep(for: limit)
        return answers.end()
      }
      let first = await tasks.next() ?? []
      // Whoever still waits for answers gets what there is.
      _ = answers.end()
      tasks.cancelAll()
      return first
    }
  }
}

/// The answers of some loops as they come.
private final class LoopAnswers<Answer: Sendable>: Sendable {
  private struct State {
    var answers: [Answer?]
    var missing: Int
    var waiting: CheckedContinuation<[Answer?], Never>?
  }

  private let state: Mutex<State>

  init(count: Int) { state = Mutex(State(answers: Array(repeating: nil, count: count), missing: count)) }

  func add(_ answer: Answer?, of index: Int) {
    let told = state.withLock { state -> (CheckedContinuation<[Answer?], Never>, [Answer?])? in
      state.answers[index] = answer
      state.missing -= 1
      // One that comes when nobody waits any more goes below zero.
      guard state.missing == 0, let waiting = state.waiting else { return nil }
      state.waiting = nil
      return (waiting, state.answers)
    }
    if let (waiting, answers) = told { waiting.resume(returning: answers) }
  }

  func all() async -> [Answer?] {
    await withCheckedContinuation { continuation in
      let answers = state.withLock { state -> [Answer?]? in
        guard state.missing > 0 else { return state.answers }
        state.waiting = continuation
        return nil
      }
      if let answers { continuation.resume(returning: answers) }
    }
  }

  /// Ends the wait with what has come.
  func end() -> [Answer?] {
    let (waiting, answers) = state.withLock { state in
      defer {
        state.waiting = nil
        state.missing = min(state.missing, 0)
      }
      return (state.waiting, state.answers)
    }
    waiting?.resume(returning: answers)
    return answers
  }
}
