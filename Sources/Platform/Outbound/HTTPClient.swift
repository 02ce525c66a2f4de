public import EventLoop
public import Logging
internal import Synchronization

/// The way out over HTTP: HTTP/2 over TLS where the peer speaks it, HTTP/1.1 otherwise, by libcurl on the event loops.
///
/// A request made by a task on one of the loops runs on that loop, over that loop's connections, and never leaves it; one
/// made elsewhere goes to the loops in turn. Every limit (time, size, scheme), every retry and every circuit is applied here.
///
/// Shut it down before the loops end; what is still under way then fails with ``OutboundError/Code/cancelled``, as does whatever is
/// sent later.
public final class HTTPClient: Sendable {
  /// What holds for all requests.
  public let configuration: HTTPClientConfiguration
  private let multis: [CurlMulti]
  private let next = Atomic(0)
  private let counters = OutboundCounters()
  private let circuits: CircuitBreakers?
  private let clock: OutboundClock
  private let log: Logger
  private let observer: (any OutboundObserver)?

  /// A client on these loops, at least one. Connects when it is first used.
  ///
  /// - Parameters:
  ///   - loops: Where requests run; at least one.
  ///   - configuration: What holds for all requests.
  ///   - clock: The time, and how it waits between attempts.
  ///   - logger: Who is told of retries and circuits.
  ///   - observer: Who sees every attempt, or nil.
  /// - Throws: ``OutboundError/Code/transportFailed`` when libcurl cannot be initialized.
  public init(
    loops: [EventLoop], configuration: HTTPClientConfiguration = .init(), clock: OutboundClock = .system,
    logger: Logger = Logger(label: "parley.outbound"), observer: (any OutboundObserver)? = nil
  ) throws(OutboundError) {
    precondition(!loops.isEmpty, "a client has at least one loop")
    let counters = counters
    self.configuration = configuration
    self.clock = clock
    log = logger
    self.observer = observer
    circuits = configuration.circuit.map { CircuitBreakers($0) }
    multis = try loops.map { (loop) throws(OutboundError) in try CurlMulti(on: loop, configuration, counters) }
  }

  deinit {
    for multi in multis { multi.loop.execute { multi.close() } }
  }

  /// What the client has done so far.
  public var statistics: OutboundStatistics { counters.snapshot() }

  /// Sends a request and returns the whole response, whatever its status.
  ///
  /// - Throws: ``OutboundError`` when there is no response; cancelling the task ends the transfer at the end of the loop's tick.
  public func send(_ request: HTTPRequest) async throws(OutboundError) -> HTTPResponse {
    try await exchange(request, isStreamed: false).response
  }

  /// Sends a request and hands over the response when its header section is there, whatever its status; the body is read piece by
  /// piece, and what is not read when `body` returns is never fetched.
  ///
  /// Attempts are repeated until there is a response; one that breaks off later is not.
  ///
  /// - Parameters:
  ///   - request: What is sent. Its `maximumResponseSize` and its time limits hold for the whole body.
  ///   - body: Gets the response, whose own body is empty, and where to read it.
  /// - Throws: ``OutboundError`` when there is no response, or what `body` throws.
  public func withResponse<Value>(
    to request: HTTPRequest, _ body: (HTTPResponse, HTTPDownload) async throws -> Value
  ) async throws -> Value {
    let (response, transfer, multi) = try await exchange(request, isStreamed: true)
    guard let incoming = transfer.incoming else { preconditionFailure("a streamed transfer has a body to read") }
    defer { end(transfer, on: multi) }
    return try await body(response, HTTPDownload(incoming: incoming))
  }

  private func exchange(
    _ request: HTTPRequest, isStreamed: Bool
  ) async throws(OutboundError) -> (response: HTTPResponse, transfer: Transfer, multi: CurlMulti) {
    let target = try TargetURL(request.url, plainHTTP: request.isLinkLocal ? .anywhere : configuration.plainHTTP)
    guard request.method.name.utf8.allSatisfy(HTTPHeaders.Field.isTokenByte), !request.method.name.isEmpty else {
      throw .init(.invalidRequest, "\(target.safeText): the method is not a token")
    }
    guard request.headers.allSatisfy(\.isSendable) else {
      throw .init(.invalidRequest, "\(request.method) \(target.safeText): a header field cannot be sent")
    }
    guard request.body == nil || request.upload == nil else {
      throw .init(.invalidRequest, "\(request.method) \(target.safeText): two bodies")
    }
    let deadline = min(request.deadline ?? .distantFuture, clock.now().advanced(by: request.timeout ?? configuration.timeout))
    let retry = request.isRepeatable ? request.retry ?? configuration.retry : .never
    let multi = currentMulti()
    var attempt = 1
    while true {
      let (outcome, transfer) = try await self.attempt(
        request, number: attempt, to: target, on: multi, until: deadline, retry, isStreamed: isStreamed)
      guard
        let delay = retry.delay(
          after: outcome, attempt: attempt, jitter: clock.random(), unixSeconds: clock.unixSeconds()),
        clock.now().advanced(by: delay) < deadline
      else { return (try outcome.get(), transfer, multi) }
      if isStreamed { end(transfer, on: multi) }
      log.debug(
        "retrying", metadata: ["request": "\(request.method) \(target.safeText)", "attempt": "\(attempt)", "delay": "\(delay)"])
      do { try await clock.sleep(delay, multi.loop) } catch {
        throw .init(.cancelled, "\(request.method) \(target.safeText): cancelled between attempts")
      }
      counters.retries.add(1, ordering: .relaxed)
      attempt += 1
    }
  }

  /// Fails what is under way and closes all connections. Later requests fail with ``OutboundError/Code/cancelled``.
  public func shutDown() async {
    for multi in multis {
      let isClosed = await multi.loop.visit(ifStopped: false) {
        multi.close()
        return true
      }
      if !isClosed { multi.loopHasEnded() }
    }
  }

  // MARK: One attempt

  private func attempt(
    _ request: HTTPRequest, number: Int, to target: TargetURL, on multi: CurlMulti, until deadline: MonotonicInstant,
    _ retry: RetryPolicy, isStreamed: Bool
  ) async throws(OutboundError) -> (Result<HTTPResponse, OutboundError>, Transfer) {
    let left = deadline.duration(since: clock.now())
    guard left > .zero else { throw .init(.timeout, "\(request.method) \(target.safeText): the deadline had passed") }
    if let wait = circuits?.admit(target.origin, now: clock.now()) {
      counters.refusedByCircuit.add(1, ordering: .relaxed)
      throw .init(.circuitOpen, "\(request.method) \(target.safeText): the host failed too often", retryAfter: wait)
    }
    let limit = min(left, retry.attemptTimeout ?? left)
    var request = request
    let observation = observer?.attemptBegins(.init(request.method, target, number: number), headers: &request.headers)
    let transfer = Transfer(request, to: target, configuration, limit: limit)
    if isStreamed {
      transfer.incoming = IncomingBody { [weak transfer] in
        guard let transfer else { return }
        Self.onLoop(of: multi, transfer) { multi.goOn(transfer) }
      }
    }
    let outcome = await perform(transfer, on: multi)
    observation?.attemptEnds(outcome)
    if circuits?.record(outcome, of: target.origin, limit: limit, now: clock.now()) == true {
      counters.circuitsOpened.add(1, ordering: .relaxed)
      log.warning("circuit opened", metadata: ["origin": "\(target.origin)"])
    }
    return (outcome, transfer)
  }

  private func perform(_ transfer: Transfer, on multi: CurlMulti) async -> Result<HTTPResponse, OutboundError> {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        transfer.wait(continuation)
        Self.onLoop(of: multi, transfer) { multi.start(transfer) }
      }
    } onCancel: {
      end(transfer, on: multi)
    }
  }

  /// Does nothing to a transfer that has ended.
  private func end(_ transfer: Transfer, on multi: CurlMulti) {
    Self.onLoop(of: multi, transfer) { multi.cancel(transfer) }
  }

  /// Works on the transfer's loop. Where that has ended nobody else tells whoever waits for the transfer.
  private static func onLoop(of multi: CurlMulti, _ transfer: Transfer, _ body: @escaping @Sendable () -> Void) {
    if multi.loop.isCurrent { body() } else if !multi.loop.execute(body) { transfer.loopHasEnded() }
  }

  private func currentMulti() -> CurlMulti {
    if let loop = EventLoop.current, let own = multis.first(where: { $0.loop === loop }) { return own }
    let turn = next.wrappingAdd(1, ordering: .relaxed).oldValue
    return multis[Int(UInt(bitPattern: turn) % UInt(multis.count))]
  }
}
