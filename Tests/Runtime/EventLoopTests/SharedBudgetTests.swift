import EventLoop
import Testing

@Suite("Shared budgets")
struct SharedBudgetTests {
  @Test("Two loops use exactly what there is together, whatever the chunks", arguments: [1, 2, 64, 1_000, 16_384])
  func exact(_ limit: Int) {
    let budget = SharedBudget(limit: limit, chunk: 64)
    var first = BudgetShare(of: budget)
    var second = BudgetShare(of: budget)
    var taken = 0
    while first.take(1) { taken += 1 }
    #expect(taken == limit)
    #expect(!second.take(1) && !second.hasRoom)
    first.giveBack(limit)
    taken = 0
    while second.take(1) { taken += 1 }
    // What lies idle with the first is a chunk at most, and small budgets have chunks of one.
    #expect(taken >= limit - max(1, min(64, limit / 64)) * 2 && taken <= limit)
  }

  @Test("What is used already is counted beyond the limit too, and given back")
  func beyond() {
    let budget = SharedBudget(limit: 1_000, chunk: 64)
    var share = BudgetShare(of: budget)
    #expect(share.change(by: 1_000))
    #expect(!share.hasRoom)
    #expect(!share.change(by: 1))
    #expect(!share.take(1))
    #expect(share.change(by: -1))
    #expect(!share.hasRoom)
    #expect(share.change(by: -1_000))
    #expect(share.hasRoom)
    #expect(budget.inUse <= 64)
  }

  @Test("A share that goes gives back what it had")
  func end() {
    let budget = SharedBudget(limit: 640, chunk: 64)
    do {
      var share = BudgetShare(of: budget)
      #expect(share.take(500))
      #expect(budget.inUse >= 500)
    }
    #expect(budget.inUse == 0)
  }
}
