internal import Synchronization

/// An amount of something (bytes, running handlers) that all loops of a process may use together.
///
/// Each loop has a ``BudgetShare``, which takes from here in chunks: what a loop uses and gives back from one request to the next
/// touches no memory that another loop's core holds.
public final class SharedBudget: Sendable {
  /// What may be used at once.
  public let limit: Int
  /// What a loop takes at once, at most: a small budget is shared in small chunks, so that no loop sits on all of it.
  let chunk: Int
  private let taken = Atomic<Int>(0)

  /// A budget of which nothing is used yet.
  public init(limit: Int, chunk: Int) {
    self.limit = limit
    self.chunk = max(1, min(chunk, limit / 64))
  }

  /// What the loops have taken, used or not.
  public var inUse: Int { taken.load(ordering: .relaxed) }

  /// Takes as much as there is, from `least` to `most`.
  ///
  /// - Returns: What was taken; 0 when there is not even `least`.
  func take(atLeast least: Int, atMost most: Int) -> Int {
    var current = taken.load(ordering: .relaxed)
    while true {
      let amount = min(most, limit - current)
      guard amount >= least else { return 0 }
      let (isDone, seen) = taken.weakCompareExchange(expected: current, desired: current + amount, ordering: .relaxed)
      if isDone { return amount }
      current = seen
    }
  }

  func giveBack(_ amount: Int) { taken.subtract(amount, ordering: .relaxed) }
}

/// One loop's share of a ``SharedBudget``. Confined to the loop.
public struct BudgetShare: ~Copyable {
  @usableFromInline let budget: SharedBudget
  @usableFromInline var amount = 0
  /// What it may use without asking.
  @usableFromInline var granted = 0
  /// What may lie idle here, so that a loop that goes up and down by a little does not ask all the time, and what is too much. Of a
  /// small budget nothing does: another loop may need the last of it.
  private let spare: Int
  @usableFromInline let mostSpare: Int

  /// A share that uses nothing.
  public init(of budget: SharedBudget) {
    self.budget = budget
    spare = budget.chunk > 1 ? budget.chunk : 0
    mostSpare = spare + budget.chunk
  }

  deinit { budget.giveBack(granted) }

  /// What the loop uses.
  @inlinable public var used: Int { amount }

  /// Whether anything at all is left.
  @inlinable public var hasRoom: Bool {
    mutating get { amount < granted || grow(by: 1) }
  }

  /// Uses `more` if there is as much.
  @inlinable
  public mutating func take(_ more: Int) -> Bool {
    guard amount + more <= granted || grow(by: more) else { return false }
    amount += more
    return true
  }

  /// Gives back what ``take(_:)`` took.
  @inlinable
  public mutating func giveBack(_ less: Int) {
    amount -= less
    if granted - amount >= mostSpare { shrink() }
  }

  /// Counts what is used already, more or less of it than before: also beyond what there is, for then nothing can be done but to
  /// use no more.
  ///
  /// - Returns: Whether it is within the budget.
  @discardableResult
  public mutating func change(by delta: Int) -> Bool {
    giveBack(-delta)
    return amount <= granted || grow(by: 0)
  }

  @usableFromInline mutating func grow(by more: Int) -> Bool {
    let missing = amount + more - granted
    granted += budget.take(atLeast: missing, atMost: max(missing, budget.chunk))
    return amount + more <= granted
  }

  @usableFromInline mutating func shrink() {
    let idle = granted - amount - spare
    granted -= idle
    budget.giveBack(idle)
  }
}
