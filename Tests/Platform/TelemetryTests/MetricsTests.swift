import EventLoop
import Metrics
import Telemetry
import Testing

@Suite("Prometheus metrics")
struct MetricsTests {
  private func text(_ registry: PrometheusRegistry) -> String { String(decoding: registry.exposition(), as: UTF8.self) }

  @Test("The text has one TYPE per name, before its samples, and ends with a line feed")
  func format() throws {
    let registry = PrometheusRegistry()
    registry.counter("calls", help: "All\ncalls \\ of it.", labels: [("path", "a\"b\\c\nd"), ("code", "200")]).increment(by: 3)
    registry.gauge("temperature").set(-1.5)
    registry.gauge("loops") { 2 }
    registry.gauge("odd").set(Double.infinity)
    let lines = text(registry).split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.last == "")
    #expect(lines.contains("# HELP calls_total All\\ncalls \\\\ of it."))
    #expect(lines.contains("# TYPE calls_total counter"))
    #expect(lines.contains(#"calls_total{code="200",path="a\"b\\c\nd"} 3"#))
    #expect(lines.contains("temperature -1.5") && lines.contains("loops 2") && lines.contains("odd +Inf"))
    try PrometheusText.check(text(registry))
  }

  @Test("Buckets are cumulative, bounds inclusive, and +Inf equals the count")
  func histogram() throws {
    let registry = PrometheusRegistry()
    let histogram = registry.histogram("size", labels: [("kind", "x")], bounds: [1, 2.5, 10])
    for value in [0.5, 1, 1.0001, 2.5, 10, 10.5, 1e9] { histogram.record(value) }
    for value: Int64 in [2, 3, -1] { histogram.record(value) }
    histogram.record(Double.nan)
    let lines = text(registry).split(separator: "\n")
    #expect(
      lines.filter { $0.hasPrefix("size") } == [
        #"size_bucket{kind="x",le="1"} 3"#, #"size_bucket{kind="x",le="2.5"} 6"#, #"size_bucket{kind="x",le="10"} 8"#,
        #"size_bucket{kind="x",le="+Inf"} 10"#, #"size_sum{kind="x"} 1000000029.5001"#, #"size_count{kind="x"} 10"#,
      ])
    try PrometheusText.check(text(registry))
  }

  @Test("A timer counts in seconds")
  func timer() {
    let registry = PrometheusRegistry()
    let timer = Timer(label: "job", dimensions: [], factory: registry)
    timer.recordMilliseconds(10)
    timer.recordNanoseconds(10_000_001)
    let text = text(registry)
    #expect(text.contains("job_seconds_bucket{le=\"0.01\"} 1\n") && text.contains("job_seconds_bucket{le=\"0.025\"} 2\n"))
    #expect(text.contains("job_seconds_sum 0.020000001\n"))
  }

  @Test("swift-metrics' instruments arrive under clean names")
  func swiftMetrics() throws {
    let registry = PrometheusRegistry()
    Counter(label: "http.requests-made", dimensions: [("status code", "200"), ("__own", "x")], factory: registry).increment(by: 2)
    Gauge(label: "2nd gauge", factory: registry).record(5)
    Meter(label: "meter", factory: registry).increment(by: 1.5)
    Recorder(label: "recorder", factory: registry).record(3)
    FloatingPointCounter(label: "float", factory: registry).increment(by: 0.25)
    let text = text(registry)
    #expect(text.contains(#"http_requests_made_total{label__own="x",status_code="200"} 2"#))
    #expect(text.contains("_2nd_gauge 5\n") && text.contains("meter 1.5\n") && text.contains("recorder_sum 3\n"))
    #expect(text.contains("float_total 0.25\n"))
    try PrometheusText.check(text)
  }

  @Test("The same name and labels are the same series, in whatever order the labels come")
  func identity() {
    let registry = PrometheusRegistry()
    let one = registry.counter("a", labels: [("x", "1"), ("y", "2")])
    #expect(registry.counter("a_total", labels: [("y", "2"), ("x", "1")]) === one)
    #expect(registry.counter("a", labels: [("x", "1")]) !== one)
  }

  @Test("A name holds 1,000 series; the rest adds up under other")
  func cardinality() throws {
    let registry = PrometheusRegistry()
    for number in 0..<5_000 { registry.counter("hits", labels: [("path", "/\(number)"), ("code", "200")]).increment() }
    registry.counter("hits", labels: [("path", "/3"), ("code", "200")]).increment()
    let lines = text(registry).split(separator: "\n").filter { $0.hasPrefix("hits_total{") }
    #expect(lines.count == 1_000)
    #expect(lines.contains(#"hits_total{code="200",path="/3"} 2"#))
    #expect(lines.contains(#"hits_total{code="other",path="other"} 4001"#))
    try PrometheusText.check(text(registry))
  }

  @Test("A name keeps its first kind, and the conflict is counted")
  func conflict() throws {
    let registry = PrometheusRegistry()
    registry.gauge("thing_total").set(1)
    registry.counter("thing").increment(by: 7)
    let text = text(registry)
    #expect(text.contains("thing_total 1\n") && !text.contains("thing_total 7"))
    #expect(text.contains("parley_metrics_conflicts_total 1\n"))
    try PrometheusText.check(text)
  }

  @Test("Increments of four threads at once all count")
  func concurrent() async throws {
    let registry = PrometheusRegistry()
    let group = try EventLoopGroup(count: 4, name: "count")
    defer { group.shutDown() }
    let counter = registry.counter("c")
    let gauge = registry.gauge("g")
    let histogram = registry.histogram("h", bounds: [1])
    await withTaskGroup(of: Void.self) { tasks in
      for loop in group.loops {
        tasks.addTask(executorPreference: loop) {
          for number in 0..<25_000 {
            counter.increment()
            gauge.increment(by: 1)
            histogram.record(Double(number % 2) * 2)
            histogram.recordNanoseconds(500_000_000)
          }
        }
      }
    }
    #expect(counter.total == 100_000 && gauge.current == 100_000)
    #expect(histogram.snapshot.counts == [150_000, 50_000] && histogram.snapshot.sum == 150_000)
  }
}
