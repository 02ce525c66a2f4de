public import CoreMetrics
internal import Synchronization

/// A number that only grows.
public final class PrometheusCounter: CounterHandler, Sendable {
  private let value = Atomic<Int64>(0)

  init() {}

  /// Adds one.
  public func increment() { value.add(1, ordering: .relaxed) }

  /// Adds `amount`; what is negative is left out.
  public func increment(by amount: Int64) {
    if amount > 0 { value.add(amount, ordering: .relaxed) }
  }

  /// Starts again at zero.
  public func reset() { value.store(0, ordering: .relaxed) }

  /// The sum so far.
  public var total: Int64 { value.load(ordering: .relaxed) }
}

/// A number that only grows, not by whole steps.
public final class PrometheusFloatingPointCounter: FloatingPointCounterHandler, Sendable {
  private let value = AtomicDouble()

  init() {}

  /// Adds `amount`; what is negative or not a number is left out.
  public func increment(by amount: Double) {
    if amount > 0 { value.add(amount) }
  }

  /// Starts again at zero.
  public func reset() { value.set(0) }

  /// The sum so far.
  public var total: Double { value.get() }
}
