internal import Synchronization

/// A number that one loop writes and anybody reads.
struct LoopCounter: ~Copyable, Sendable {
  private let value = Atomic<Int>(0)

  // One writer only: a load and a store are enough, and cost no locked instruction.
  @inline(__always)
  func increment(by amount: Int) { value.store(value.load(ordering: .relaxed) &+ amount, ordering: .relaxed) }

  @inline(__always)
  func store(_ number: Int) { value.store(number, ordering: .relaxed) }

  var current: Int { value.load(ordering: .relaxed) }
}

/// What one loop's part of the database counts.
final class Counters: Sendable {
  let queries = LoopCounter()
  let roundTrips = LoopCounter()
  let prepared = LoopCounter()
  let reconnects = LoopCounter()
  let slowReads = LoopCounter()
  let waitingReads = LoopCounter()
  let inUse = LoopCounter()
  let waiting = LoopCounter()
  let poolConnections = LoopCounter()
  let failedConnections = LoopCounter()
  let isReady = LoopCounter()
  let poolWaits = LoopCounter()
  let poolWaitNanoseconds = LoopCounter()
}
