import EventLoop
import Testing

@Suite("Shared budgets")
struct SharedBudgetTests {
  /// Takes one after the other until there is no more.
  private func takeAll(_ share: inout BudgetShare) -> Int {
    var taken = 0
    while share.take(1) { taken += 1 }
    return taken
  }

  @Test("Two loops use exactly what there is together, whatever the chunks", arguments: [1, 2, 64, 1_000, 16_384])
  func exact(_ limit: Int) {
    let budget = SharedBudget(limit: limit, chunk: 64)
    var first = BudgetShare(of: budget)
    var second = BudgetShare(of: budget)
    #expect(takeAll(&first) == limit)
    #expect(takeAll(&second) == 0)
    let hasRoom = second.hasRoom
    #expect(!hasRoom)
    first.giveBack(limit)
    let taken = takeAll(&second)
    // A chunk lies idle with the first, unless the budget is small.
    #expect(taken == (limit < 128 ? limit : limit - min(64, limit / 64)))
  }

  @Test("What is used already is counted beyond the limit too, and given back")
  func beyond() {
    let budget = SharedBudget(limit: 1_000, chunk: 64)
    var share = BudgetShare(of: budget)
    var answers = [share.change(by: 1_000), share.hasRoom, share.change(by: 1), share.take(1)]
    #expect(answers == [true, false, false, false])
    answers = [share.change(by: -1), share.hasRoom, share.change(by: -1_000), share.hasRoom]
    #expect(answers == [true, false, true, true])
    #expect(budget.inUse <= 128)
  }

  @Test("A share that goes gives back what it had")
  func end() {
    let budget = SharedBudget(limit: 640, chunk: 64)
    func use() -> Bool {
      var share = BudgetShare(of: budget)
      return share.take(500) && budget.inUse >= 500
    }
    #expect(use())
    #expect(budget.inUse == 0)
  }
}
