/// The loop's own queue of jobs: a growable ring, used by one thread.
struct JobRing: ~Copyable {
  private var storage: UnsafeMutablePointer<UnownedJob>
  private var capacity: Int
  private var head = 0
  private(set) var count = 0

  init(capacity: Int = 256) {
    precondition(capacity & (capacity - 1) == 0, "the capacity is a power of two")
    self.capacity = capacity
    storage = .allocate(capacity: capacity)
  }

  deinit { storage.deallocate() }

  mutating func push(_ job: UnownedJob) {
    if count == capacity { grow() }
    (storage + ((head + count) & (capacity - 1))).initialize(to: job)
    count += 1
  }

  /// The oldest job. The ring must not be empty.
  mutating func pop() -> UnownedJob {
    let job = (storage + head).move()
    head = (head + 1) & (capacity - 1)
    count -= 1
    return job
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<UnownedJob>.allocate(capacity: capacity * 2)
    for index in 0..<count { (larger + index).initialize(to: (storage + ((head + index) & (capacity - 1))).move()) }
    storage.deallocate()
    storage = larger
    capacity *= 2
    head = 0
  }
}
