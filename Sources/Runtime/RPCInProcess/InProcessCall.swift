internal import MessagesCore
internal import RPC
internal import Synchronization

/// One call with both of its sides: the pipes between them, the metadata, and how it ended.
final class InProcessCall: Sendable {
  enum Outcome {
    case success
    case failure(RPCError)
  }

  struct State {
    var initialMetadata = Metadata()
    var trailingMetadata = Metadata()
    var values = CallValues()
    var compression = MessageCompression.identity
    /// Headers as they went to the caller.
    var sentMetadata: Metadata?
    var hasResponse = false
    var requests = 0
    var outcome: Outcome?
    var handler: Task<Void, Never>?
    var clock: Task<Void, Never>?
    var waiters: [UnsafeContinuation<Void, Never>] = []
    /// A unary call's handler, until its request is whole.
    var start: (@Sendable () -> Void)?
  }

  let method: MethodInfo
  let metadata: Metadata
  let deadline: Deadline?
  let requests: MessagePipe
  let responses: MessagePipe
  let state = Mutex(State())
  private let unexpectedError: @Sendable (any Error, String) -> Void

  init(
    _ method: MethodInfo, metadata: Metadata, deadline: Deadline?, queuedMessages: Int,
    unexpectedError: @escaping @Sendable (any Error, String) -> Void
  ) {
    self.method = method
    self.metadata = metadata
    self.deadline = deadline
    requests = MessagePipe(capacity: queuedMessages)
    responses = MessagePipe(capacity: queuedMessages)
    self.unexpectedError = unexpectedError
  }

  var hasOneResponse: Bool { method.kind == .unary || method.kind == .clientStreaming }

  static var deadlineExceeded: RPCError { RPCError(.deadlineExceeded, "the deadline has passed") }
  static var isOver: RPCError { RPCError(.cancelled, "the call is over") }

  // MARK: The beginning

  /// Starts the handler, or has it started by a unary call's one request.
  func begin(_ route: MethodRoute?, on executor: (any TaskExecutor)?) {
    guard deadline?.hasPassed != true else { return abandon(Self.deadlineExceeded) }
    guard let route else { return end(RPCError(.unimplemented, "unknown method \(method.path)")) }
    if let deadline {
      // The caller's deadline holds whether its handler cares or not.
      let clock = Task.detached { [weak self] in
        while !deadline.hasPassed { do { try await Task.sleep(for: deadline.timeLeft) } catch { return } }
        self?.abandon(Self.deadlineExceeded)
      }
      state.withLock { $0.clock = clock }
    }
    let start: @Sendable () -> Void = { [self] in
      // A task of its own, as on a server: nothing that the caller's task carries is seen by the handler.
      let handler = Task.detached(executorPreference: executor) { await self.serve(route) }
      let isOver = state.withLock { state in
        state.handler = handler
        return state.outcome != nil
      }
      if isOver { handler.cancel() }
    }
    if method.kind == .unary { state.withLock { $0.start = start } } else { start() }
  }

  /// A unary call's request is whole.
  func requestIsWhole() {
    let start = state.withLock { state in
      defer { state.start = nil }
      return state.outcome == nil ? state.start : nil
    }
    start?()
  }

  private func serve(_ route: MethodRoute) async {
    let call = InProcessServerCall(self)
    do {
      try await CallContext.$current.withValue(CallContext(call)) { try await route.serve(call) }
      let unsendable = state.withLock {
        ($0.sentMetadata == nil ? $0.initialMetadata.unsendable : nil) ?? $0.trailingMetadata.unsendable
      }
      if let unsendable { throw unsendable }
      let isMissing = hasOneResponse && !state.withLock { $0.hasResponse }
      end(isMissing ? RPCError(.internal, "the handler returned without a response") : nil)
    } catch let error as RPCError {
      end(error)
    } catch is CancellationError {
      end(RPCError(.cancelled, "the call was cancelled"))
    } catch {
      let incident = String(UInt64.random(in: .min ... .max), radix: 16)
      unexpectedError(error, incident)
      end(
        RPCError(
          .internal, "internal error, incident \(incident)",
          details: [.errorInfo(reason: "INTERNAL", domain: "parley", metadata: ["incident": incident])]))
    }
  }

  // MARK: The end

  /// The server's side has ended the call; what it has sent can still be read.
  func end(_ error: RPCError?) {
    let outcome = settle { state in
      guard var error else {
        state.sentMetadata = state.sentMetadata ?? state.initialMetadata.transmitted
        return .success
      }
      // What was set as headers comes as such before the failure, as over a wire.
      if !state.initialMetadata.isEmpty { state.sentMetadata = state.sentMetadata ?? state.initialMetadata.transmitted }
      error.initialMetadata = state.sentMetadata ?? Metadata()
      error.metadata = (state.trailingMetadata + error.metadata).transmitted
      error.cause = nil
      return .failure(error)
    }
    guard let outcome else { return }
    requests.abandon(Self.isOver)
    if case .failure(let error) = outcome { responses.finish(error) } else { responses.finish() }
  }

  /// The caller's side has ended the call, or its deadline has: nothing more is read.
  func abandon(_ error: RPCError) {
    let outcome = settle { state in
      var error = error
      error.initialMetadata = state.sentMetadata ?? Metadata()
      return .failure(error)
    }
    guard case .failure(let error)? = outcome else { return }
    requests.abandon(Self.isOver)
    responses.abandon(error)
  }

  private func settle(_ judge: (inout State) -> Outcome) -> Outcome? {
    let (outcome, tasks, woken) = state.withLock { state -> (Outcome?, [Task<Void, Never>?], [UnsafeContinuation<Void, Never>]) in
      guard state.outcome == nil else { return (nil, [], []) }
      let outcome = judge(&state)
      state.outcome = outcome
      state.start = nil
      defer {
        state.waiters = []
        state.handler = nil
        state.clock = nil
      }
      return (outcome, [state.handler, state.clock], state.waiters)
    }
    for task in tasks { task?.cancel() }
    for continuation in woken { continuation.resume() }
    return outcome
  }

  /// Has the headers go to the caller, if they have not.
  func sendHeaders() {
    let woken = state.withLock { state in
      guard state.sentMetadata == nil else { return [UnsafeContinuation<Void, Never>]() }
      state.sentMetadata = state.initialMetadata.transmitted
      defer { state.waiters = [] }
      return state.waiters
    }
    for continuation in woken { continuation.resume() }
  }

  /// Waits until `isMet` holds; it is asked when headers come and when the call ends.
  func wait(until isMet: @Sendable (State) -> Bool) async {
    while !state.withLock({ isMet($0) }) {
      await withUnsafeContinuation { continuation in
        let isWaiting = state.withLock { state in
          guard !isMet(state) else { return false }
          state.waiters.append(continuation)
          return true
        }
        if !isWaiting { continuation.resume() }
      }
    }
  }
}

extension Metadata {
  /// What of it would have arrived over a wire.
  var transmitted: Metadata {
    var metadata = Metadata()
    for entry in entries where Metadata.isValidName(entry.name) {
      if case .text(let text) = entry.value, !Metadata.isValidText(text) { continue }
      metadata.append(entry)
    }
    return metadata
  }

  static func + (left: Metadata, right: Metadata) -> Metadata {
    var sum = left
    sum.append(contentsOf: right)
    return sum
  }
}
