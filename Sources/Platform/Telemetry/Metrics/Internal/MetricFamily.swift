/// All series of one name.
struct MetricFamily: Sendable {
  enum Kind: String {
    case counter, gauge, histogram
  }

  enum Series: Sendable {
    case counter(PrometheusCounter)
    case floatingPointCounter(PrometheusFloatingPointCounter)
    case gauge(PrometheusGauge)
    case computed(@Sendable () -> Double)
    case histogram(PrometheusHistogram)
  }

  let name: String
  let kind: Kind
  private let help: String
  /// By the text of the labels, sorted by name.
  private var series: [String: Series]
  private var bounds: [Double]?

  init(_ name: String, _ kind: Kind, help: String, series: [String: Series] = [:]) {
    self.name = name
    self.kind = kind
    self.help = help
    self.series = series
  }

  mutating func series(_ labels: [(String, String)], limit: Int, _ make: ([Double]?) -> Series) -> Series {
    let labels = labels.map { (MetricName.label($0.0), $0.1) }.sorted { $0.0 < $1.0 }
    var key = Self.text(labels)
    if let known = series[key] { return known }
    // The last place is kept for what finds none.
    if series.count >= limit - 1 {
      key = Self.text(labels.map { ($0.0, "other") })
      if let other = series[key] { return other }
    }
    let new = make(bounds)
    if case .histogram(let histogram) = new { bounds = histogram.bounds }
    series[key] = new
    return new
  }

  private static func text(_ labels: [(String, String)]) -> String {
    labels.map { "\($0.0)=\"\(MetricName.escapedValue($0.1))\"" }.joined(separator: ",")
  }

  // MARK: Text

  func write(to text: inout String) {
    if !help.isEmpty { text += "# HELP \(name) \(MetricName.escapedHelp(help))\n" }
    text += "# TYPE \(name) \(kind.rawValue)\n"
    for (labels, series) in series.sorted(by: { $0.key < $1.key }) {
      switch series {
      case .counter(let counter): line(name, labels, "\(counter.total)", to: &text)
      case .floatingPointCounter(let counter): line(name, labels, Self.number(counter.total), to: &text)
      case .gauge(let gauge): line(name, labels, Self.number(gauge.current), to: &text)
      case .computed(let read): line(name, labels, Self.number(read()), to: &text)
      case .histogram(let histogram): write(histogram, labels, to: &text)
      }
    }
  }

  private func write(_ histogram: PrometheusHistogram, _ labels: String, to text: inout String) {
    let (counts, sum) = histogram.snapshot
    let separator = labels.isEmpty ? "" : ","
    var total = 0
    for (index, count) in counts.enumerated() {
      total += count
      let bound = index < histogram.bounds.count ? Self.number(histogram.bounds[index]) : "+Inf"
      line(name + "_bucket", "\(labels)\(separator)le=\"\(bound)\"", "\(total)", to: &text)
    }
    line(name + "_sum", labels, Self.number(sum), to: &text)
    line(name + "_count", labels, "\(total)", to: &text)
  }

  private func line(_ name: String, _ labels: String, _ value: String, to text: inout String) {
    text += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
  }

  /// As Go prints and reads floating-point numbers.
  private static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    return value == value.rounded() && value.magnitude < 1e15 ? "\(Int64(value))" : "\(value)"
  }
}
