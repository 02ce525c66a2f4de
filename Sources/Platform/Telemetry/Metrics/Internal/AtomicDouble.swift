internal import Synchronization

/// A floating-point number that any thread may add to.
final class AtomicDouble: Sendable {
  private let bits = Atomic<UInt64>(0)

  func get() -> Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

  func add(_ amount: Double) {
    var old = bits.load(ordering: .relaxed)
    while true {
      let (exchanged, now) = bits.weakCompareExchange(
        expected: old, desired: (Double(bitPattern: old) + amount).bitPattern, ordering: .relaxed)
      if exchanged { return }
      old = now
    }
  }
}
