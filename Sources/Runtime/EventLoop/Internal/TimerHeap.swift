/// Armed timers in the order of their deadlines: a heap of four children each, whose timers know their own place, so that
/// disarming is O(log n) without a search.
///
/// The deadlines stand in the heap itself, and nothing is retained on the way: most timers are taken back long before they would
/// fire, and looking at each object that one passes would cost a cache miss each.
struct TimerHeap: ~Copyable {
  private struct Entry {
    let deadline: MonotonicInstant
    /// Holds one reference while it is in the heap.
    let timer: Unmanaged<LoopTimer>
  }

  private var entries: ContiguousArray<Entry> = []

  deinit { for entry in entries { entry.timer.release() } }

  var first: LoopTimer? { entries.first?.timer.takeUnretainedValue() }
  var count: Int { entries.count }

  mutating func insert(_ timer: LoopTimer) {
    let entry = Entry(deadline: timer.deadline, timer: .passRetained(timer))
    entries.append(entry)
    siftUp(entry, from: entries.count - 1)
  }

  mutating func remove(_ timer: LoopTimer) {
    let index = timer.heapIndex
    let removed = entries[index]
    let last = entries.removeLast()
    if index < entries.count { settle(last, at: index) }
    timer.heapIndex = -1
    removed.timer.release()
  }

  /// Restores the order after `timer` was given another deadline.
  mutating func update(_ timer: LoopTimer) {
    let index = timer.heapIndex
    settle(Entry(deadline: timer.deadline, timer: entries[index].timer), at: index)
  }

  private mutating func settle(_ entry: Entry, at index: Int) {
    if index > 0 && entry.deadline < entries[(index - 1) / 4].deadline {
      siftUp(entry, from: index)
    } else {
      siftDown(entry, from: index)
    }
  }

  private mutating func siftUp(_ entry: Entry, from start: Int) {
    var hole = start
    while hole > 0 {
      let parent = (hole - 1) / 4
      guard entry.deadline < entries[parent].deadline else { break }
      place(entries[parent], at: hole)
      hole = parent
    }
    place(entry, at: hole)
  }

  private mutating func siftDown(_ entry: Entry, from start: Int) {
    var hole = start
    while case let firstChild = 4 * hole + 1, firstChild < entries.count {
      var smallest = firstChild
      for child in (firstChild + 1)..<max(firstChild + 1, min(firstChild + 4, entries.count))
      where entries[child].deadline < entries[smallest].deadline {
        smallest = child
      }
      guard entries[smallest].deadline < entry.deadline else { break }
      place(entries[smallest], at: hole)
      hole = smallest
    }
    place(entry, at: hole)
  }

  @inline(__always)
  private mutating func place(_ entry: Entry, at index: Int) {
    entries[index] = entry
    entry.timer._withUnsafeGuaranteedRef { $0.heapIndex = index }
  }
}
