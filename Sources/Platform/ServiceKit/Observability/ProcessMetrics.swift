internal import EventLoop
internal import Outbound
internal import PostgreSQL
internal import Telemetry

extension PrometheusRegistry {
  /// The process as Prometheus' own clients name it, and what was built.
  func describeProcess(_ program: String) {
    gauge("process_resident_memory_bytes", help: "Bytes in memory.") { ProcessStatistics.residentBytes }
    gauge("process_virtual_memory_bytes", help: "Bytes of address space.") { ProcessStatistics.virtualBytes }
    gauge("process_open_fds", help: "Descriptors that are open.") { ProcessStatistics.openDescriptors }
    gauge("process_max_fds", help: "Descriptors that may be open.") { ProcessStatistics.descriptorLimit }
    gauge("process_start_time_seconds", help: "When the process began, in seconds since 1970.") {
      ProcessStatistics.startSeconds
    }
    counter("process_cpu_seconds_total", help: "Seconds of CPU.") { ProcessStatistics.cpuSeconds }
    let versions = ServiceVersion.lines(of: program).map { ($0.name == program ? "version" : $0.name, $0.version) }
    gauge("parley_build_info", help: "What runs; always 1.", labels: [("program", program)] + versions) { 1 }
  }

  /// Each loop's work.
  func describe(_ group: EventLoopGroup) {
    for loop in group.loops {
      let labels = [("loop", loop.name)]
      counter("parley_loop_ticks_total", help: "Times that the loop looked for something to do.", labels: labels) {
        Double(loop.statistics.ticks)
      }
      counter("parley_loop_jobs_total", help: "Jobs of tasks that the loop has run.", labels: labels) {
        Double(loop.statistics.jobs)
      }
      gauge("parley_loop_connections", help: "Connections that live on the loop, of all kinds.", labels: labels) {
        Double(loop.load)
      }
    }
  }

  /// The pools and connections of the database.
  func describe(_ database: Database) {
    func gauge(_ name: String, _ help: String, _ value: @escaping @Sendable (DatabaseStatistics) -> Int) {
      self.gauge("parley_database_\(name)", help: help) { Double(value(database.statistics)) }
    }
    func counter(_ name: String, _ help: String, _ value: @escaping @Sendable (DatabaseStatistics) -> Double) {
      self.counter("parley_database_\(name)_total", help: help) { value(database.statistics) }
    }
    gauge("pool_in_use", "Connections of the pools that are at work.") { $0.inUse }
    gauge("pool_connections", "Connections of the pools that are open or being opened.") { $0.poolConnections }
    gauge("pool_waiting", "Tasks that wait for a connection of a pool.") { $0.waiting }
    let limit = database.configuration.poolSize
    gauge("pool_limit", "Connections that the pools may have.") { limit * $0.loops }
    gauge("ready", "Whether every loop has its read connection.") { $0.readyLoops == $0.loops ? 1 : 0 }
    counter("pool_waits", "Tasks that had to wait for a connection of a pool and got one.") { Double($0.poolWaits) }
    counter("pool_wait_seconds", "Seconds that those waited, all together.") { Double($0.poolWaitNanoseconds) / 1_000_000_000 }
    counter("queries", "Statements that were sent.") { Double($0.queries) }
    counter("round_trips", "Round trips that they took.") { Double($0.roundTrips) }
    counter("prepared", "Statements that were prepared.") { Double($0.prepared) }
    counter("reconnects", "Times that a read connection broke.") { Double($0.reconnects) }
    counter("failed_connections", "Attempts to open a connection of a pool that failed.") { Double($0.failedConnections) }
    gauge("waiting_reads", "Reads that wait for the shared connections.") { $0.waitingReads }
    counter("slow_reads", "Reads that were too slow for the shared connection.") { Double($0.slowReads) }
  }

  /// The way out.
  func describe(_ client: HTTPClient) {
    func counter(_ name: String, _ help: String, _ value: @escaping @Sendable (OutboundStatistics) -> Int) {
      self.counter("parley_outbound_\(name)_total", help: help) { Double(value(client.statistics)) }
    }
    counter("attempts", "Attempts that were begun.") { $0.attempts }
    counter("failures", "Attempts that ended without a response.") { $0.failures }
    counter("retries", "Attempts after the first of a request.") { $0.retries }
    counter("refused_by_circuit", "Requests that an open circuit refused.") { $0.refusedByCircuit }
    counter("circuits_opened", "Times that a circuit opened.") { $0.circuitsOpened }
    counter("connections", "Connections that were opened.") { $0.connections }
    counter("received_bytes", "Bytes of response bodies.") { $0.bytesReceived }
    gauge("parley_outbound_in_flight", help: "Attempts that are under way.") { Double(client.statistics.inFlight) }
  }
}
