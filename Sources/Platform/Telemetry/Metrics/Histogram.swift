public import CoreMetrics
internal import Synchronization

/// How often values fell into each of a fixed row of ranges.
///
/// Recording is a search over the bounds and two atomic additions; no lock, no allocation.
///
/// SAFETY: the counts are atomics behind a pointer that lives as long as the object; the rest is constant.
public final class PrometheusHistogram: RecorderHandler, TimerHandler, @unchecked Sendable {
  /// The upper ends of the ranges, ascending, inclusive; one more range has no end.
  public let bounds: [Double]
  private let nanosecondBounds: [Int64]
  private let wholeBounds: [Int64]
  private let counts: UnsafeMutablePointer<Atomic<Int>>
  private let sum = AtomicDouble()
  private let sumOfNanoseconds = Atomic<Int64>(0)
  private let sumOfWholes = Atomic<Int64>(0)

  /// From 0.5 ms to 10 s, for calls that somebody waits for.
  public static let seconds: [Double] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
  /// From 64 B to 16 MiB, in steps of four.
  public static let sizes: [Double] = [64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216]

  init(bounds: [Double]) {
    precondition(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "the bounds of a histogram ascend")
    self.bounds = bounds
    nanosecondBounds = bounds.map { Self.whole($0 * 1_000_000_000) }
    wholeBounds = bounds.map { Self.whole($0) }
    counts = .allocate(capacity: bounds.count + 1)
    for index in 0...bounds.count { (counts + index).initialize(to: Atomic(0)) }
  }

  deinit {
    counts.deinitialize(count: bounds.count + 1)
    counts.deallocate()
  }

  /// Takes note of a whole number, without floating-point arithmetic.
  public func record(_ value: Int64) {
    var index = 0
    while index < wholeBounds.count, value > wholeBounds[index] { index += 1 }
    counts[index].add(1, ordering: .relaxed)
    sumOfWholes.add(value, ordering: .relaxed)
  }

  /// Takes note of a value; what is not a number is left out.
  public func record(_ value: Double) {
    guard !value.isNaN else { return }
    var index = 0
    while index < bounds.count, value > bounds[index] { index += 1 }
    counts[index].add(1, ordering: .relaxed)
    sum.add(value)
  }

  /// Takes note of a duration; the bounds are seconds.
  public func recordNanoseconds(_ duration: Int64) {
    let duration = max(0, duration)
    var index = 0
    while index < nanosecondBounds.count, duration > nanosecondBounds[index] { index += 1 }
    counts[index].add(1, ordering: .relaxed)
    sumOfNanoseconds.add(duration, ordering: .relaxed)
  }

  /// How many values fell into each range, the endless one last, and their sum.
  public var snapshot: (counts: [Int], sum: Double) {
    (
      (0...bounds.count).map { counts[$0].load(ordering: .relaxed) },
      sum.get() + Double(sumOfWholes.load(ordering: .relaxed)) + Double(sumOfNanoseconds.load(ordering: .relaxed)) / 1_000_000_000
    )
  }

  /// A whole number is above a bound exactly when it is above the bound rounded down.
  private static func whole(_ bound: Double) -> Int64 {
    bound >= 9e18 ? .max : bound <= -9e18 ? .min : Int64(bound.rounded(.down))
  }
}
