internal import EventLoop
internal import Glibc
internal import Jobs
internal import Logging
internal import PostgreSQL
internal import Synchronization
internal import Telemetry

/// `job-worker prepare|order|work --database URL ...`: what a run of faults kills and stops. `jobs.py` starts and judges it.
@main struct JobWorkerMain {
  static func main() async throws {
    // Before any thread is there: they inherit it.
    TerminationSignals.hold()
    var arguments = CommandLine.arguments.dropFirst()
    let action = arguments.popFirst() ?? ""
    var options: [String: String] = [:]
    while let name = arguments.popFirst(), let value = arguments.popFirst() { options[name] = value }
    guard let url = options["--database"], let outside = options["--outside"] else { fail("--database and --outside are needed") }
    let group = try EventLoopGroup(count: 1)
    let log = Logger(label: options["--name"] ?? action) { StreamLogHandler.standardError(label: $0) }
    if action == "prepare" { return try await ChaosSchema.prepare(url, outside, group, log) }
    let place = try ChaosPlace(url, outside, group, log)
    switch action {
    case "order":
      let orders = ChaosOrders(place: place, count: number("--count"), batch: number("--batch"))
      let time = Duration.milliseconds(number("--milliseconds"))
      let isEnough = Atomic(false)
      let sending = group.loops[0].spawn {
        do {
          print("ordered \(try await orders.send(over: time) { isEnough.load(ordering: .relaxed) })")
          fflush(nil)
        } catch {
          fail("\(error)")
        }
      }
      TerminationSignals.wait()
      isEnough.store(true, ordering: .relaxed)
      await sending.value
    case "work":
      let work = ChaosWork(place: place, name: options["--name"] ?? "worker", slowness: number("--slowness"))
      // Without one it is the lease of production.
      var settings = WorkerSettings(name: work.name)
      if let lease = options["--lease"].flatMap(Int.init) { settings.lease = .seconds(lease) }
      let worker = JobWorker(
        place.queue, work.handlers, settings, on: group, log: log, metrics: JobMetrics(PrometheusRegistry()))
      let working = group.loops[0].spawn { try? await worker.run() }
      print("works")
      fflush(nil)
      TerminationSignals.wait()
      working.cancel()
      await working.value
    default: fail("prepare, order or work")
    }

    func number(_ name: String) -> Int {
      guard let value = options[name].flatMap(Int.init) else { fail("\(name) is needed") }
      return value
    }
  }

  private static func fail(_ what: String) -> Never {
    print("job-worker: \(what)")
    exit(64)
  }
}
