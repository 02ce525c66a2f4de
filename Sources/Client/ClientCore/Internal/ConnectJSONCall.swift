import ConnectWire
import Foundation
import MessagesCore
import RPC
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One call of a ``ConnectJSONChannel``. Its requests are gathered, and the exchange begins when the last of them is there.
final class ConnectJSONCall: ClientCall {
  private struct Sending {
    var body: [UInt8] = []
    var count = 0
    var isFinished = false
  }

  private struct Receiving {
    var reader: EnvelopeReader
    /// How the call ended, as the server or the reader of its bytes says.
    var end: Result<Void, RPCError>?
    var trailers = Metadata()
  }

  let exchange: Exchange
  let deadline: Deadline?
  private let method: MethodInfo
  private let options: ConnectJSONChannel.Options
  private let prefersGET: Bool
  private let maximumBytes: Int
  private let request: ConnectRequest
  private let sending = Mutex(Sending())
  private let receiving: Mutex<Receiving>

  init(
    _ method: MethodInfo, _ callOptions: CallOptions, _ options: ConnectJSONChannel.Options, baseURL: URL, _ exchange: Exchange
  ) {
    self.method = method
    self.options = options
    self.exchange = exchange
    deadline = callOptions.effectiveDeadline
    prefersGET = callOptions.prefersGET && method.idempotency == .noSideEffects
    maximumBytes = callOptions.maximumResponseBytes ?? options.maximumResponseBytes
    receiving = Mutex(Receiving(reader: EnvelopeReader(maximumBytes: maximumBytes)))
    var metadata = options.metadata
    metadata.append(contentsOf: callOptions.metadata)
    request = ConnectRequest(baseURL: baseURL, method: method, metadata: metadata, deadline: deadline)
  }

  // MARK: Requests

  func send<M: Message>(_ message: M, compressed: Bool) async throws(RPCError) {
    if let failure = exchange.failure { throw failure }
    let json: [UInt8]
    do throws(EncodeError) {
      json = try message.jsonBytes(options: JSONEncodingOptions(registry: options.registry))
    } catch {
      throw RPCError(.internal, "the request has no JSON form: \(error.message)", cause: error)
    }
    let isUnary = method.kind == .unary
    try sending.withLock { sending throws(RPCError) in
      guard !sending.isFinished else { throw RPCError(.cancelled, "a request follows the last one") }
      guard sending.count == 0 || method.kind == .clientStreaming else {
        throw RPCError(.unimplemented, "\(method.path) takes one request")
      }
      sending.count += 1
      if isUnary { sending.body = json } else { try Envelope.write(json, to: &sending.body) }
    }
  }

  func finishSending() async throws(RPCError) {
    if let failure = exchange.failure { throw failure }
    let (body, count) = sending.withLock { sending -> ([UInt8]?, Int) in
      guard !sending.isFinished else { return (nil, sending.count) }
      sending.isFinished = true
      defer { sending.body = [] }
      return (sending.body, sending.count)
    }
    guard let body else { return }
    guard method.kind == .unary else {
      return exchange.begin(try request.stream(body), limit: options.maximumUnreadBytes)
    }
    guard count == 1 else { throw RPCError(.unimplemented, "\(method.path) takes one request") }
    if prefersGET, let get = try request.get(body, limit: options.maximumAddressBytes) {
      exchange.begin(get, limit: maximumBytes)
    } else {
      exchange.begin(try request.unary(body), limit: maximumBytes)
    }
  }

  func cancel() {
    exchange.end(RPCError(.cancelled, "the call was cancelled"))
  }

  // MARK: Responses

  func initialMetadata() async throws(RPCError) -> Metadata { try await exchange.head().metadata }

  func trailingMetadata() async -> Metadata { receiving.withLock { $0.trailers } }

  func responseWasCompressed() async -> Bool { (try? await exchange.head().wasCompressed) ?? false }

  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M? {
    if let end = receiving.withLock({ $0.end }) {
      try end.get()
      return nil
    }
    do throws(RPCError) {
      return try await method.kind == .unary ? unaryResponse() : nextResponse()
    } catch {
      var error = error
      if let headers = exchange.received?.metadata { error.initialMetadata = headers }
      receiving.withLock { $0.end = .failure(error) }
      exchange.end(error)
      throw error
    }
  }

  private func unaryResponse<M: Message>() async throws(RPCError) -> M {
    let head = try await exchange.head()
    let body = try await wholeBody()
    receiving.withLock { $0.trailers = head.trailers }
    guard head.status == 200 else { throw head.error(body: body) }
    try head.check(contentType: "application/json")
    let message: M = try decode(body)
    receiving.withLock { $0.end = .success(()) }
    return message
  }

  private func nextResponse<M: Message>() async throws(RPCError) -> M? {
    let head = try await exchange.head()
    guard head.status == 200 else { throw head.error(body: try await wholeBody()) }
    try head.check(contentType: "application/connect+json")
    while true {
      if let envelope = try receiving.withLock({ receiving throws(RPCError) in try receiving.reader.next() }) {
        guard !envelope.isCompressed else { throw RPCError(.internal, "the server compressed what must not be compressed") }
        guard envelope.isEnd else { return try decode(envelope.content) }
        try await finish(with: envelope)
        return nil
      }
      guard let bytes = try await exchange.bytes() else {
        throw RPCError(.internal, "the response ended without saying how the call did")
      }
      receiving.withLock { $0.reader.append(bytes) }
    }
  }

  private func finish(with envelope: EnvelopePart) async throws(RPCError) {
    guard let end = ConnectEndOfStream(json: envelope.content) else {
      throw RPCError(.internal, "the end of the response is no JSON object")
    }
    // Read to its end, the connection can carry the next call.
    let isLast = receiving.withLock { $0.reader.isEmpty }
    guard isLast, try await exchange.bytes() == nil else {
      throw RPCError(.internal, "the response goes on behind its end")
    }
    receiving.withLock { receiving in
      receiving.trailers = end.metadata
      if end.error == nil { receiving.end = .success(()) }
    }
    guard var error = end.error else { return }
    error.metadata.append(contentsOf: end.metadata)
    throw error
  }

  private func wholeBody() async throws(RPCError) -> [UInt8] {
    var body: [UInt8] = []
    while let bytes = try await exchange.bytes() {
      body += bytes
      guard body.count <= maximumBytes else {
        throw RPCError(.resourceExhausted, "the response is longer than \(maximumBytes) bytes")
      }
    }
    return body
  }

  private func decode<M: Message>(_ json: [UInt8]) throws(RPCError) -> M {
    do throws(DecodeError) {
      return try M(json: json, options: JSONDecodingOptions(ignoresUnknownFields: true, registry: options.registry))
    } catch {
      throw RPCError(error.code == .budgetExceeded ? .resourceExhausted : .internal, "the response is not readable", cause: error)
    }
  }
}
