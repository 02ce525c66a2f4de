public import CoreMetrics
internal import Synchronization

/// All metrics of a process, as Prometheus reads them; a backend for swift-metrics, and a direct interface for hot paths.
///
/// Asking for a metric takes a lock and builds text: do it once and keep the handle, which is an atomic and no more. The same
/// name and labels give the same handle. A name holds at most ``seriesLimit`` combinations of labels; what comes beyond is
/// added up under the value `other` for each label. A name that is asked for as two different kinds keeps the first; the
/// handle of the second counts nowhere, and `parley_metrics_conflicts_total` counts the case.
public final class PrometheusRegistry: MetricsFactory, Sendable {
  /// The most combinations of labels under one name.
  public let seriesLimit: Int
  private let families = Mutex<[String: MetricFamily]>([:])
  private let conflicts: PrometheusCounter

  /// A registry without metrics.
  public init(seriesLimit: Int = 1_000) {
    self.seriesLimit = seriesLimit
    let conflicts = PrometheusCounter()
    self.conflicts = conflicts
    let name = "parley_metrics_conflicts_total"
    families.withLock {
      $0[name] = MetricFamily(
        name, .counter, help: "Metrics asked for under a name that another kind has.", series: ["": .counter(conflicts)])
    }
  }

  // MARK: Direct

  /// A counter; `_total` is added to its name when it is missing.
  public func counter(_ name: String, help: String = "", labels: [(String, String)] = []) -> PrometheusCounter {
    let series = series(MetricName.counter(name), .counter, help, labels) { _ in .counter(PrometheusCounter()) }
    if case .counter(let counter)? = series { return counter }
    return PrometheusCounter()
  }

  /// A gauge.
  public func gauge(_ name: String, help: String = "", labels: [(String, String)] = []) -> PrometheusGauge {
    let series = series(MetricName.sanitized(name), .gauge, help, labels) { _ in .gauge(PrometheusGauge()) }
    if case .gauge(let gauge)? = series { return gauge }
    return PrometheusGauge()
  }

  /// A gauge that is read when it is asked for; `read` may be called on any thread.
  public func gauge(
    _ name: String, help: String = "", labels: [(String, String)] = [], read: @escaping @Sendable () -> Double
  ) {
    _ = series(MetricName.sanitized(name), .gauge, help, labels) { _ in .computed(read) }
  }

  /// A counter that is read when it is asked for; `read` may be called on any thread, and never returns less than before.
  public func counter(
    _ name: String, help: String = "", labels: [(String, String)] = [], read: @escaping @Sendable () -> Double
  ) {
    _ = series(MetricName.counter(name), .counter, help, labels) { _ in .computed(read) }
  }

  /// A histogram with these bounds, which ascend; the bounds of the first handle hold for the name.
  public func histogram(
    _ name: String, help: String = "", labels: [(String, String)] = [], bounds: [Double] = PrometheusHistogram.seconds
  ) -> PrometheusHistogram {
    let series = series(MetricName.sanitized(name), .histogram, help, labels) {
      .histogram(PrometheusHistogram(bounds: $0 ?? bounds))
    }
    if case .histogram(let histogram)? = series { return histogram }
    return PrometheusHistogram(bounds: bounds)
  }

  private func series(
    _ name: String, _ kind: MetricFamily.Kind, _ help: String, _ labels: [(String, String)],
    _ make: ([Double]?) -> MetricFamily.Series
  ) -> MetricFamily.Series? {
    families.withLock { families in
      let found = families[name]?.kind
      guard found == nil || found == kind else {
        conflicts.increment()
        return nil
      }
      return families[name, default: MetricFamily(name, kind, help: help)].series(labels, limit: seriesLimit, make)
    }
  }

  // MARK: Exposition

  /// All metrics in Prometheus' text format 0.0.4, in order of their names.
  public func exposition() -> [UInt8] {
    let families = families.withLock { Array($0.values) }
    var text = ""
    for family in families.sorted(by: { $0.name < $1.name }) { family.write(to: &text) }
    return Array(text.utf8)
  }

  /// The content type of ``exposition()``.
  public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  // MARK: swift-metrics

  /// A counter by its label and dimensions.
  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    counter(label, labels: dimensions)
  }

  /// A counter for amounts that are not whole.
  public func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
    let series = series(MetricName.counter(label), .counter, "", dimensions) { _ in
      .floatingPointCounter(PrometheusFloatingPointCounter())
    }
    if case .floatingPointCounter(let counter)? = series { return counter }
    return PrometheusFloatingPointCounter()
  }

  /// A gauge.
  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { gauge(label, labels: dimensions) }

  /// A histogram, or a gauge when nothing is to be aggregated.
  public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    aggregate ? histogram(label, labels: dimensions, bounds: Self.magnitudes) : gauge(label, labels: dimensions)
  }

  /// A histogram of seconds; `_seconds` is added to its name when it is missing.
  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    histogram(MetricName.timer(label), labels: dimensions)
  }

  /// Nothing: a process keeps its metrics to its end, since a counter that begins again reads as a restart.
  public func destroyCounter(_ handler: any CounterHandler) {}
  /// Nothing: see ``destroyCounter(_:)``.
  public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
  /// Nothing: see ``destroyCounter(_:)``.
  public func destroyMeter(_ handler: any MeterHandler) {}
  /// Nothing: see ``destroyCounter(_:)``.
  public func destroyRecorder(_ handler: any RecorderHandler) {}
  /// Nothing: see ``destroyCounter(_:)``.
  public func destroyTimer(_ handler: any TimerHandler) {}

  /// For recorders, whose unit is not known: 1, 2.5, 5 and so on to a million.
  private static let magnitudes: [Double] = [
    1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 100_000, 1_000_000,
  ]
}
