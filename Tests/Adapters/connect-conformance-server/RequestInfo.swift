import ConnectConformance
import JudgeAPI
import MessagesCore
import RPC
import WellKnown

/// What the server tells of what it received.
struct RequestInfo {
  private var message = Judged.ConformancePayload.RequestInfo()

  /// What is known of a call before its first request.
  init(_ call: CallContext) {
    message.requestHeaders = call.metadata.headers
    if let query = call.call.query { message.connectGetInfo = .init(queryParams: Self.parameters(query)) }
    if let deadline = call.deadline {
      let (seconds, attoseconds) = deadline.timeLeft.components
      message.timeoutMs = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }
  }

  /// The parameters of a query in their order, percent-decoded.
  private static func parameters(_ query: String) -> [Judged.Header] {
    QueryEncoding.parameters(Array(query.utf8)).map { parameter in
      .init(name: String(decoding: parameter.name, as: UTF8.self), value: [String(decoding: parameter.value, as: UTF8.self)])
    }
  }

  /// Adds one request.
  mutating func add(_ request: some Message) throws(RPCError) { message.requests.append(try .init(packing: request)) }

  /// A payload that tells all of it.
  func payload(_ data: Bytes = Bytes()) -> Judged.ConformancePayload { .init(data: data, requestInfo: message) }

  /// A payload that tells of one request alone, as the later answers of a full-duplex call do.
  static func payload(_ data: Bytes, echoing request: some Message) throws(RPCError) -> Judged.ConformancePayload {
    .init(data: data, requestInfo: .init(requests: [try .init(packing: request)]))
  }

  /// The error that was asked for, with all of this among its details.
  func error(_ definition: Judged.Error) throws(RPCError) -> RPCError {
    RPCError(definition, details: [try ErrorDetail(packing: message)])
  }
}
