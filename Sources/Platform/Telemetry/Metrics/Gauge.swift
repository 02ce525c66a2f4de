public import CoreMetrics

/// A number that goes up and down.
public final class PrometheusGauge: MeterHandler, RecorderHandler, Sendable {
  private let value = AtomicDouble()

  init() {}

  /// Sets it.
  public func set(_ value: Int) { self.value.set(Double(value)) }
  /// Sets it.
  public func set(_ value: Int64) { self.value.set(Double(value)) }
  /// Sets it.
  public func set(_ value: Double) { self.value.set(value) }
  /// Adds to it.
  public func increment(by amount: Double) { value.add(amount) }
  /// Takes from it.
  public func decrement(by amount: Double) { value.add(-amount) }
  /// Sets it.
  public func record(_ value: Int64) { self.value.set(Double(value)) }
  /// Sets it.
  public func record(_ value: Double) { self.value.set(value) }

  /// What it was set to last.
  public var current: Double { value.get() }
}
