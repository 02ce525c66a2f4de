internal import RPC
internal import Synchronization

/// What is kept ready for one method, so that a call costs atomics and copying bytes: the handles of its metrics and the part of
/// its log line that never changes.
// SAFETY: the pointer holds atomics and lives as long as the object; the rest is constant.
final class CallInstruments: @unchecked Sendable {
  /// The metrics of one method and status.
  final class Finished: Sendable {
    let duration: PrometheusHistogram
    let received: PrometheusHistogram
    let sent: PrometheusHistogram

    init(_ registry: PrometheusRegistry, _ method: String, _ status: StatusCode) {
      let labels = [("grpc_method", method), ("grpc_status", status.name)]
      duration = registry.histogram(
        "grpc_server_call_duration_seconds", help: "Time from a call's headers to its status.", labels: labels)
      received = registry.histogram(
        "grpc_server_call_rcvd_total_compressed_message_size_bytes", help: "Bytes of request messages in one call.",
        labels: labels,
        bounds: PrometheusHistogram.sizes)
      sent = registry.histogram(
        "grpc_server_call_sent_total_compressed_message_size_bytes", help: "Bytes of response messages in one call.",
        labels: labels,
        bounds: PrometheusHistogram.sizes)
    }
  }

  /// `","level":"info",…,"method":"/service/name","status":"`: between the time and the status.
  let linePrefix: [UInt8]
  /// The same for what an operator must look at: `","level":"error",…`.
  let failurePrefix: [UInt8]
  let started: PrometheusCounter?
  private let registry: PrometheusRegistry?
  /// `service/name`, or `other`.
  let label: String
  /// The address of the metrics of calls that end OK, which are nearly all, once there are some; `finished` keeps them.
  private let ok = Atomic<UInt>(0)
  private let finished: UnsafeMutablePointer<AtomicLazyReference<Finished>>
  private static let statusCount = StatusCode.allCases.count

  init(label: String, path: String, registry: PrometheusRegistry?) {
    self.label = label
    self.registry = registry
    linePrefix = Self.prefix("info", path)
    failurePrefix = Self.prefix("error", path)
    started = registry?.counter("grpc_server_call_started_total", help: "Calls begun.", labels: [("grpc_method", label)])
    finished = .allocate(capacity: Self.statusCount)
    for index in 0..<Self.statusCount { (finished + index).initialize(to: AtomicLazyReference()) }
  }

  private static func prefix(_ level: StaticString, _ path: String) -> [UInt8] {
    var prefix: [UInt8] = []
    LineWriter.append(to: &prefix, atMost: 128 + LineWriter.longest(path.utf8.count)) { line in
      line.append(#"","level":""#)
      line.append(level)
      line.append(#"","logger":"parley.access","message":"call","method":""#)
      line.append(escaped: path)
      line.append(#"","status":""#)
    }
    return prefix
  }

  deinit {
    finished.deinitialize(count: Self.statusCount)
    finished.deallocate()
  }

  /// The metrics for a status: made at the first call that ends so, since most never come.
  func finished(_ status: StatusCode) -> Finished? {
    if status == .ok, let known = UnsafeRawPointer(bitPattern: ok.load(ordering: .acquiring)) {
      return Unmanaged<Finished>.fromOpaque(known).takeUnretainedValue()
    }
    if let known = finished[status.rawValue].load() { return known }
    guard let registry else { return nil }
    let made = finished[status.rawValue].storeIfNil(Finished(registry, label, status))
    if status == .ok { ok.store(UInt(bitPattern: Unmanaged.passUnretained(made).toOpaque()), ordering: .releasing) }
    return made
  }
}

/// The instruments of all registered methods, found by the method's identity: an open-addressed table that never changes.
///
/// Only registered methods have a label of their own, so that no caller can make series up.
struct CallInstrumentTable: Sendable {
  private let slots: [(key: ObjectIdentifier, value: CallInstruments)?]
  private let mask: Int
  private let other: CallInstruments

  init(_ methods: [MethodInfo], registry: PrometheusRegistry?) {
    var size = 4
    while size < methods.count * 2 + 1 { size *= 2 }
    var slots = [(key: ObjectIdentifier, value: CallInstruments)?](repeating: nil, count: size)
    for method in methods {
      var index = Self.index(of: ObjectIdentifier(method), size - 1)
      while let slot = slots[index], slot.key != ObjectIdentifier(method) { index = (index + 1) & (size - 1) }
      let label = "\(method.service)/\(method.name)"
      slots[index] = (ObjectIdentifier(method), CallInstruments(label: label, path: method.path, registry: registry))
    }
    self.slots = slots
    mask = size - 1
    other = CallInstruments(label: "other", path: "other", registry: registry)
  }

  @inline(__always)
  subscript(method: MethodInfo) -> CallInstruments {
    var index = Self.index(of: ObjectIdentifier(method), mask)
    while let slot = slots[index] {
      if slot.key == ObjectIdentifier(method) { return slot.value }
      index = (index + 1) & mask
    }
    return other
  }

  /// Objects are 16 bytes apart at least, and usually much more.
  private static func index(of key: ObjectIdentifier, _ mask: Int) -> Int {
    let address = UInt(bitPattern: key)
    return Int(truncatingIfNeeded: (address >> 4) ^ (address >> 11)) & mask
  }
}
