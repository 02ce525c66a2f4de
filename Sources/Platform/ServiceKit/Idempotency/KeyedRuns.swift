internal import EventLoop
internal import Idempotency
internal import JOSE
internal import Logging
internal import MessagesCore
internal import MessagesWire
internal import PostgreSQL
internal import RPC
internal import Telemetry
internal import Values

/// Requests with keys: each runs once, and is answered as before when it comes again. What calls and plain HTTP paths have in common.
struct KeyedRuns: Sendable {
  /// How long a run is believed to be alive beyond the time that it may take.
  private static let grace = Duration.seconds(5)
  private static let keyLengths = 1...64

  let store: IdempotencyStore
  private let longestCall: Duration
  private let clock: WallClock
  private let loops: [EventLoop]
  private let log: Logger
  private let replays: PrometheusCounter
  private let lost: PrometheusCounter

  init(
    _ store: IdempotencyStore, longestCall: Duration, clock: WallClock, loops: [EventLoop], registry: PrometheusRegistry,
    log: Logger
  ) {
    self.store = store
    self.longestCall = longestCall
    self.clock = clock
    self.loops = loops
    self.log = log
    replays = registry.counter("parley_idempotency_replays_total", help: "Requests that were answered as before.")
    lost = registry.counter("parley_idempotency_unnoted_total", help: "Requests with a key whose end could not be noted.")
  }

  /// What is to be done about a request.
  enum Turn {
    /// It runs now.
    case run(KeyedRequest)
    /// It was answered.
    case answered(StoredAnswer)
  }

  /// Claims a request, or tells what it was answered.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - key: Its key.
  ///   - method: The method whose request it is.
  ///   - caller: Whose it is.
  ///   - keptHours: For how long its answer is kept.
  /// - Throws: A refusal where the key is none, or belongs to another request, or to one that runs.
  func turn(
    _ request: any Message, key: String, _ method: MethodInfo, of caller: Caller, keptHours: Int
  ) async throws -> Turn {
    guard Self.isValid(key) else { throw PolicyRefusal.invalidKey("1 to 64 printable characters without blanks").rpcError() }
    let bytes: [UInt8]
    do { bytes = try request.protobufBytes() } catch {
      throw RPCError(.internal, "the request cannot be encoded", cause: error)
    }
    let now = Instant(clock)
    let claim = RequestClaim(
      userID: caller.userID, method: String(method.path.dropFirst()), key: key, hash: SHA256.digest(bytes),
      run: UUID.v7(at: now), leaseUntil: now.advanced(by: longestCall + Self.grace),
      expiresAt: now.advanced(by: .seconds(3_600) * keptHours))
    switch try await claimed(claim, at: now) {
    case .claimed: return .run(KeyedRequest(claim, store))
    case .answered(let answer):
      replays.increment()
      return .answered(answer)
    case .running(let until):
      throw PolicyRefusal.keyInUse.rpcError(retryAfter: min(max(until.duration(since: now), .seconds(1)), .seconds(2)))
    case .reused: throw PolicyRefusal.keyReused.rpcError()
    }
  }

  private static func isValid(_ key: String) -> Bool {
    keyLengths.contains(key.utf8.count) && key.utf8.allSatisfy { (0x21...0x7e).contains($0) }
  }

  private func claimed(_ claim: RequestClaim, at now: Instant) async throws -> IdempotencyStore.Outcome {
    do { return try await store.claim(claim, at: now) } catch {
      // Who gave up waiting may have claimed it all the same.
      await unhurried { try await store.release(claim) }
      throw error
    }
  }

  /// Keeps a response, unless the run has kept it by itself.
  func keep(_ response: any Message, of request: KeyedRequest) async {
    guard !request.isKept, let bytes = try? response.protobufBytes() else { return }
    if bytes.count > store.maximumAnswerBytes {
      log.error("answer too large to be kept", metadata: ["method": "\(request.claim.method)", "bytes": "\(bytes.count)"])
    }
    await unhurried {
      guard try await !store.keep(StoredAnswer(status: 0, bytes: bytes), for: request.claim) else { return }
      log.warning("answer not kept: another run has taken its request over", metadata: ["method": "\(request.claim.method)"])
    }
  }

  /// After a failure: a final one is kept, and after any other the request may come again at once.
  func settle(_ request: KeyedRequest, _ error: any Error) async {
    let answer = ErrorMap.rpcError(for: error).flatMap { StoredAnswer($0) }
    await unhurried {
      if let answer { _ = try await store.keep(answer, for: request.claim) } else { try await store.release(request.claim) }
    }
  }

  /// The response of an answer that was kept.
  ///
  /// - Throws: The refusal that was kept.
  func response<Response: Message>(_ answer: StoredAnswer, as type: Response.Type) throws(RPCError) -> Response {
    if let error = answer.error { throw error }
    guard let bytes = answer.bytes else { throw PolicyRefusal.answerNotKept.rpcError() }
    do { return try Response(protobuf: bytes) } catch {
      throw RPCError(.internal, "the kept answer cannot be read", cause: error)
    }
  }

  /// To its end, even if the caller has gone: what is not noted now would hold the key until the lease is over.
  private func unhurried(_ body: @escaping @Sendable () async throws -> Void) async {
    let loop = loops.first { $0.isCurrent } ?? loops[0]
    await loop.spawn {
      do { try await body() } catch {
        lost.increment()
        log.warning("what became of a request with a key is not noted", metadata: ["cause": "\(error)"])
      }
    }.value
  }
}
