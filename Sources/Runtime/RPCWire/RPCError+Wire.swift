package import MessagesCore
package import RPC

/// The errors that the protocols themselves raise. They have no `ErrorInfo`: as every implementation of the protocols does, they say in
/// code and message what is wrong, and reasons are the services' own.
extension RPCError {
  /// The deadline has passed.
  package static var deadlineExceeded: RPCError { RPCError(.deadlineExceeded, "the deadline has passed") }

  /// The server drains, and this call would go on for as long as it does.
  package static var stopping: RPCError { RPCError(.unavailable, "the server is stopping") }

  /// More calls at once than may run.
  package static var overloaded: RPCError {
    var metadata: Metadata = ["retry-after": "1"]
    // One of the protocol's own names, which gRPC clients obey when they retry: gRFC A6.
    metadata.append(.init(name: "grpc-retry-pushback-ms", value: .text("1000")))
    return RPCError(
      .resourceExhausted, "too many calls are running", details: [.retryInfo(.seconds(1))], metadata: metadata)
  }

  /// A message over the limit.
  package static func messageTooLarge(_ bytes: Int, limit: Int) -> RPCError {
    RPCError(.resourceExhausted, "the message has \(bytes) bytes, the limit is \(limit)")
  }

  /// A header list over the limit.
  package static func headersTooLarge(limit: Int) -> RPCError {
    RPCError(.resourceExhausted, "the header list is longer than \(limit) bytes")
  }

  /// A message over the limit, before it is known by how much.
  package static func messageTooLarge(limit: Int) -> RPCError {
    RPCError(.resourceExhausted, "the message has more than \(limit) bytes")
  }

  /// A message encoding that is not spoken here.
  package static func unsupportedEncoding(_ name: String) -> RPCError {
    RPCError(
      .unimplemented,
      "the message encoding '\(name.prefix(32))' is not supported; supported are \(AcceptedCompressions.supported)")
  }

  /// What a call fails with whose response cannot be written.
  package static func unencodable(_ error: EncodeError) -> RPCError {
    RPCError(.internal, "the response cannot be encoded", cause: error)
  }

  /// A message that cannot be read.
  package static func undecodable(_ error: DecodeError) -> RPCError {
    RPCError(
      error.code == .budgetExceeded ? .resourceExhausted : .invalidArgument, "the message cannot be decoded: \(error)",
      cause: error)
  }
}
