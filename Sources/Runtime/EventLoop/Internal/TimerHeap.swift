/// Armed timers in the order of their deadlines: a binary heap whose elements know their own place, so that disarming is
/// O(log n) without a search.
struct TimerHeap {
  private var timers: [LoopTimer] = []

  var first: LoopTimer? { timers.first }
  var count: Int { timers.count }

  mutating func insert(_ timer: LoopTimer) {
    timer.heapIndex = timers.count
    timers.append(timer)
    siftUp(timer.heapIndex)
  }

  mutating func remove(_ timer: LoopTimer) {
    let index = timer.heapIndex
    let last = timers.count - 1
    if index != last {
      timers.swapAt(index, last)
      timers[index].heapIndex = index
    }
    timers.removeLast()
    timer.heapIndex = -1
    if index < timers.count {
      siftDown(index)
      siftUp(index)
    }
  }

  /// Restores the order after `timer` was given another deadline.
  mutating func update(_ timer: LoopTimer) {
    siftDown(timer.heapIndex)
    siftUp(timer.heapIndex)
  }

  private mutating func siftUp(_ start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard timers[child].deadline < timers[parent].deadline else { return }
      exchange(child, parent)
      child = parent
    }
  }

  private mutating func siftDown(_ start: Int) {
    var parent = start
    while true {
      var smallest = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < timers.count && timers[child].deadline < timers[smallest].deadline {
        smallest = child
      }
      guard smallest != parent else { return }
      exchange(parent, smallest)
      parent = smallest
    }
  }

  private mutating func exchange(_ left: Int, _ right: Int) {
    timers.swapAt(left, right)
    timers[left].heapIndex = left
    timers[right].heapIndex = right
  }
}
