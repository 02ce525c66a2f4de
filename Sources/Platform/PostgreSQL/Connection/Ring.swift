/// A growable first-in, first-out queue that keeps its memory.
struct Ring<Element> {
  private var storage: ContiguousArray<Element?> = []
  private var head = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var first: Element? { count == 0 ? nil : storage[head] }

  mutating func append(_ element: Element) {
    if count == storage.count { grow() }
    storage[(head + count) & (storage.count - 1)] = element
    count += 1
  }

  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = storage[head].take()
    head = (head + 1) & (storage.count - 1)
    count -= 1
    return element
  }

  private mutating func grow() {
    var larger = ContiguousArray<Element?>(repeating: nil, count: Swift.max(16, storage.count * 2))
    for index in 0..<count { larger[index] = storage[(head + index) & (storage.count - 1)] }
    storage = larger
    head = 0
  }
}
