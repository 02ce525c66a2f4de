import EventLoop
import Glibc
import TestSupport

/// What a call costs: made by one caller, one after the other, and by many at once.
struct CallMeasurement {
  /// What one call of a kind costs in microseconds, on average over a batch; the median of the batches.
  struct Cost {
    var service = 0.0
    var postgres = 0.0
    /// The time from asking to the answer, the median of all calls.
    var median = 0.0
  }

  /// A call that is ready to be made: what it takes is there.
  typealias Call = @Sendable () async throws -> Void

  private static let batches = 5
  /// As many as make the service wait for nobody.
  private static let callers = 16

  let service: pid_t
  let postmaster: pid_t
  private let idle: ProcessorTime

  /// Looks first at what is used when nobody calls.
  init(of service: pid_t, and postmaster: pid_t) async throws {
    self.service = service
    self.postmaster = postmaster
    var quietest: ProcessorTime?
    // The cluster has just been made: what it still does about that is nobody's idleness.
    for _ in 0..<5 {
      let before = try ProcessorTime.used(by: service, and: postmaster)
      let start = MonotonicInstant.now()
      try await Task.sleep(for: .seconds(1))
      let used = try ProcessorTime.used(by: service, and: postmaster) - before
      let second = used.each(MonotonicInstant.now().duration(since: start) / .seconds(1))
      if quietest.map({ second.postgres < $0.postgres }) ?? true { quietest = second }
    }
    idle = quietest ?? ProcessorTime()
  }

  /// Measures calls of a kind.
  ///
  /// - Parameters:
  ///   - alone: How many one caller makes.
  ///   - crowd: How many are made by many callers.
  ///   - ready: Prepares the call of a caller with a number, each once.
  func cost(
    alone: Int, crowd: Int, _ ready: (_ caller: Int, _ number: Int) async throws -> Call
  ) async throws -> (alone: Cost, saturated: Cost) {
    var number = 0
    func batch(of count: Int, by callers: Int) async throws -> [[Call]] {
      var calls = Array(repeating: [Call](), count: callers)
      for index in 0..<max(count / Self.batches, callers) {
        number += 1
        calls[index % callers].append(try await ready(index % callers, number))
      }
      return calls
    }
    func cost(of count: Int, by callers: Int) async throws -> Cost {
      // What a first call brings is nobody's.
      _ = try await measured(try await batch(of: Self.batches, by: callers))
      var services: [Double] = []
      var postgres: [Double] = []
      var times: [Double] = []
      for _ in 0..<Self.batches {
        let calls = try await batch(of: count, by: callers)
        let (used, taken) = try await measured(calls)
        let count = Double(calls.map(\.count).reduce(0, +))
        services.append(Double(used.service + used.children) / count / 1_000)
        postgres.append(Double(used.postgres) / count / 1_000)
        times += taken
      }
      return Cost(service: Self.median(services), postgres: Self.median(postgres), median: Self.median(times))
    }
    return (try await cost(of: alone, by: 1), try await cost(of: crowd, by: Self.callers))
  }

  private func measured(_ calls: [[Call]]) async throws -> (used: ProcessorTime, times: [Double]) {
    let before = try ProcessorTime.used(by: service, and: postmaster)
    let start = MonotonicInstant.now()
    let times = try await withThrowingTaskGroup(of: [Double].self) { tasks in
      for own in calls {
        tasks.addTask {
          var times: [Double] = []
          for call in own {
            let start = MonotonicInstant.now()
            try await call()
            times.append(MonotonicInstant.now().duration(since: start) / .microseconds(1))
          }
          return times
        }
      }
      return try await tasks.reduce(into: []) { $0 += $1 }
    }
    let seconds = MonotonicInstant.now().duration(since: start) / .seconds(1)
    let used = try ProcessorTime.used(by: service, and: postmaster) - before
    return (used.without(idle, seconds: seconds), times)
  }

  /// What something costs that is done once, in milliseconds.
  func whole(_ body: () async throws -> Void) async throws -> (service: Double, children: Double, postgres: Double) {
    let before = try ProcessorTime.used(by: service, and: postmaster)
    let start = MonotonicInstant.now()
    try await body()
    let seconds = MonotonicInstant.now().duration(since: start) / .seconds(1)
    let used = (try ProcessorTime.used(by: service, and: postmaster) - before).without(idle, seconds: seconds)
    return (Double(used.service) / 1e6, Double(used.children) / 1e6, Double(used.postgres) / 1e6)
  }

  static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return 0 }
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}
