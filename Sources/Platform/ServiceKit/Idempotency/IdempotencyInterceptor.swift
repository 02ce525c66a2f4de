internal import EventLoop
internal import Idempotency
internal import JOSE
internal import Logging
internal import MessagesCore
internal import MessagesWire
internal import PostgreSQL
public import RPC
internal import Telemetry

/// The option `(parley.options.v1.idempotency)`, enforced: a request with a key runs once, and is answered as before when it comes again.
///
/// What a repeated request gets is what the first one got, byte for byte: a response, or a refusal that no repetition could change. After
/// any other failure it runs anew. While the first one runs it is ABORTED and told when to come again.
public struct IdempotencyInterceptor: ServerInterceptor {
  /// How long a run is believed to be alive beyond the time that it may take.
  static let grace = Duration.seconds(5)
  private static let keyLengths = 1...64

  let policy: MethodPolicy
  let replay: MethodReplay<any Message>
  let store: IdempotencyStore
  let longestCall: Duration
  let clock: WallClock
  let loops: [EventLoop]
  let log: Logger
  let replays: PrometheusCounter
  let lost: PrometheusCounter

  /// Serves the call by way of `next`.
  public func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    let caller = try CallContext(call).caller
    let read = try await ReadCall.reading(call, policy)
    let key = replay.key(try read.message())
    guard !key.isEmpty else {
      guard replay.isKeyOptional else { throw PolicyRefusal.invalidKey("needed, 1 to 64 printable characters").rpcError() }
      return try await next(read)
    }
    guard Self.isValid(key) else { throw PolicyRefusal.invalidKey("1 to 64 printable characters without blanks").rpcError() }
    let now = Timestamp(clock)
    let request = try keyed(read, key, of: caller, at: now)
    switch try await claimed(request, at: now) {
    case .claimed: try await run(request, read, next)
    case .answered(let answer):
      replays.increment()
      try send(answer, on: read)
    case .running(let until):
      let left = until.duration(since: now)
      throw PolicyRefusal.keyInUse.rpcError(retryAfter: min(max(left, .seconds(1)), .seconds(2)))
    case .reused: throw PolicyRefusal.keyReused.rpcError()
    }
  }

  private static func isValid(_ key: String) -> Bool {
    keyLengths.contains(key.utf8.count) && key.utf8.allSatisfy { (0x21...0x7e).contains($0) }
  }

  private func keyed(_ read: ReadCall, _ key: String, of caller: Caller, at now: Timestamp) throws(RPCError) -> KeyedRequest {
    let bytes: [UInt8]
    do { bytes = try read.message().protobufBytes() } catch {
      throw RPCError(.internal, "the request cannot be encoded", cause: error)
    }
    return KeyedRequest(
      RequestClaim(
        userID: caller.userID, method: String(read.method.path.dropFirst()), key: key, hash: SHA256.digest(bytes),
        run: UUID.v7(at: now), leaseUntil: now.advanced(by: longestCall + Self.grace),
        expiresAt: now.advanced(by: .seconds(3_600) * replay.keptHours)),
      store)
  }

  private func claimed(_ request: KeyedRequest, at now: Timestamp) async throws -> IdempotencyStore.Outcome {
    do { return try await store.claim(request.claim, at: now) } catch {
      // Who gave up waiting may have claimed it all the same.
      await unhurried { try await store.release(request.claim) }
      throw error
    }
  }

  // MARK: Running

  private func run(_ request: KeyedRequest, _ read: ReadCall, _ next: MethodRoute.Serve) async throws {
    read.values[KeyedRequest.Key.self] = request
    read.holdsResponse = true
    do { try await next(read) } catch {
      await settle(request, error)
      throw error
    }
    read.holdsResponse = false
    guard let response = read.response else {
      let error = RPCError(.internal, "the handler has not answered")
      await settle(request, error)
      throw error
    }
    if !request.isKept { await keep(response, of: request) }
    try send(response, on: read)
  }

  private func keep(_ response: any Message, of request: KeyedRequest) async {
    guard let bytes = try? response.protobufBytes() else { return }
    if bytes.count > store.maximumAnswerBytes {
      log.error("answer too large to be kept", metadata: ["method": "\(request.claim.method)", "bytes": "\(bytes.count)"])
    }
    await unhurried {
      guard try await !store.keep(StoredAnswer(status: 0, bytes: bytes), for: request.claim) else { return }
      log.warning("answer not kept: another run has taken its request over", metadata: ["method": "\(request.claim.method)"])
    }
  }

  /// After a failure: a final one is kept, and after any other the request may come again at once.
  private func settle(_ request: KeyedRequest, _ error: any Error) async {
    let answer = ErrorMap.rpcError(for: error).flatMap { StoredAnswer($0) }
    await unhurried {
      if let answer { _ = try await store.keep(answer, for: request.claim) } else { try await store.release(request.claim) }
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

  // MARK: Answering

  private func send(_ answer: StoredAnswer, on read: ReadCall) throws(RPCError) {
    if let error = answer.error { throw error }
    guard let bytes = answer.bytes else { throw PolicyRefusal.answerNotKept.rpcError() }
    try send(try decoded(policy.response, bytes), on: read)
  }

  private func send(_ response: some Message, on read: ReadCall) throws(RPCError) { try read.inner.unaryResponse(response) }

  private func decoded<M: Message>(_ type: M.Type, _ bytes: [UInt8]) throws(RPCError) -> any Message {
    do { return try M(protobuf: bytes) } catch { throw RPCError(.internal, "the kept answer cannot be read", cause: error) }
  }
}
