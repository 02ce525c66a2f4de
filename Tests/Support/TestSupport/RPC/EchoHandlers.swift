internal import EventLoop
internal import MessagesCore
public import RPC
public import TestAPI

/// The echo service of the tests, with tallies of what its handlers live through.
public final class EchoHandlers: EchoService.Handlers {
  /// Calls of `Sleep` that have begun.
  public let sleeping = Tally("calls asleep")
  /// Calls of `Sleep` that were cancelled.
  public let cancelled = Tally("calls cancelled")
  /// Messages that `Count` has written.
  public let counted = Tally("messages counted")
  /// Calls of `Count` that have ended, however.
  public let ended = Tally("calls of Count ended")
  /// Messages that `Sum` has read.
  public let summed = Tally("messages summed")
  /// Called first by `Echo`, for tests that want it to do something.
  public let beforeEcho: (@Sendable (EchoRequest, CallContext) async throws -> Void)?

  /// Handlers; `beforeEcho` may fail or delay an `Echo`.
  public init(beforeEcho: (@Sendable (EchoRequest, CallContext) async throws -> Void)? = nil) { self.beforeEcho = beforeEcho }

  /// Returns the request.
  public func echo(_ request: EchoRequest, _ call: CallContext) async throws -> EchoResponse {
    if let beforeEcho { try await beforeEcho(request, call) }
    return EchoResponse(text: request.text, body: request.body, sequence: request.sequence)
  }

  /// Returns the tree, with the fields that nobody knows.
  public func echoTree(_ request: EchoTreeRequest, _ call: CallContext) async throws -> EchoTreeResponse {
    var response = EchoTreeResponse(tree: request.tree)
    response.unknownFields = request.unknownFields
    return response
  }

  /// Returns the object.
  public func echoStruct(_ request: EchoStructRequest, _ call: CallContext) async throws -> EchoStructResponse {
    EchoStructResponse(object: request.object)
  }

  /// Returns the descriptor.
  public func echoDescriptor(_ request: EchoDescriptorRequest, _ call: CallContext) async throws -> EchoDescriptorResponse {
    EchoDescriptorResponse(file: request.file)
  }

  /// Fails as it is told; a code outside the table is an unexpected error.
  public func fail(_ request: FailRequest, _ call: CallContext) async throws -> FailResponse {
    guard let code = StatusCode(rawValue: Int(request.code)) else { throw Unexpected(secret: request.message) }
    guard code != .ok else { return FailResponse() }
    var error = RPCError(code, request.message)
    if !request.reason.isEmpty {
      error.details = [
        .errorInfo(reason: request.reason, domain: "test", metadata: ["key": "value"]), .retryInfo(.milliseconds(1_500)),
        .badRequest([.init(field: "code", description: "größer als 16")]),
        .other(typeURL: "type.googleapis.com/test.Other", bytes: [0, 1, 255]),
      ]
    }
    throw error
  }

  /// Waits until it is cancelled.
  public func sleep(_ request: SleepRequest, _ call: CallContext) async throws -> SleepResponse {
    sleeping.add()
    do {
      while true { try await EventLoop.current?.sleep(for: .seconds(600)) }
    } catch {
      cancelled.add()
      throw error
    }
  }

  /// Returns the metadata received and sends what it was given.
  public func metadata(_ request: MetadataRequest, _ call: CallContext) async throws -> MetadataResponse {
    for (name, value) in request.initial.sorted(by: { $0.key < $1.key }) { try add(name, value, to: &call.initialMetadata) }
    for (name, value) in request.trailing.sorted(by: { $0.key < $1.key }) { try add(name, value, to: &call.trailingMetadata) }
    var received: [String: String] = [:]
    for entry in call.metadata.entries {
      let value =
        switch entry.value {
        case .text(let text): text
        case .binary(let bytes): MetadataBase64.encode(bytes)
        }
      received[entry.name] = received[entry.name].map { $0 + "," + value } ?? value
    }
    return MetadataResponse(received: received)
  }

  /// Counts up to a number.
  public func count(_ request: CountRequest, _ responses: ResponseWriter<CountResponse>, _ call: CallContext) async throws {
    defer { ended.add() }
    let payload = Bytes([UInt8](repeating: 0, count: Int(request.payloadSize)))
    for number in stride(from: Int32(1), through: request.to, by: 1) {
      try await responses.write(CountResponse(number: number, payload: payload))
      counted.add()
      try Task.checkCancellation()
    }
  }

  /// Adds up what it is sent.
  public func sum(_ requests: RequestStream<SumRequest>, _ call: CallContext) async throws -> SumResponse {
    var response = SumResponse()
    for try await request in requests {
      response.total += request.number
      response.count += 1
      summed.add()
    }
    return response
  }

  /// Returns each message as it comes.
  public func chat(
    _ requests: RequestStream<ChatRequest>, _ responses: ResponseWriter<ChatResponse>, _ call: CallContext
  ) async throws {
    for try await request in requests { try await responses.write(ChatResponse(text: request.text)) }
  }

  /// Returns the name that an interceptor has attached.
  public func guarded(_ request: GuardedRequest, _ call: CallContext) async throws -> GuardedResponse {
    GuardedResponse(caller: call[CallerKey.self] ?? "nobody")
  }

  private func add(_ name: String, _ value: String, to metadata: inout Metadata) throws {
    if name.hasSuffix("-bin") {
      try metadata.append(checking: name, Array(value.utf8))
    } else {
      try metadata.append(checking: name, value)
    }
  }

  /// An error that no caller should see.
  public struct Unexpected: Error, Sendable {
    /// What must not leave the process.
    public let secret: String
  }

  /// Where an interceptor puts the caller's name for `Guarded`.
  public enum CallerKey: CallValueKey {
    /// A name.
    public typealias Value = String
  }
}
