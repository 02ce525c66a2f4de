import JudgeAPI
import MessagesCore
import RPC

extension GRPCTesting.Payload {
  /// The largest body that a request may ask for, in bytes.
  static let maximumBody: Int32 = 128 << 20

  /// A body of `count` bytes of zero.
  ///
  /// - Throws: ``RPCError`` with INVALID_ARGUMENT for a size that is negative or above ``maximumBody``.
  static func zeros(_ count: Int32) throws(RPCError) -> GRPCTesting.Payload {
    guard count >= 0, count <= maximumBody else {
      throw RPCError(.invalidArgument, "a body of \(count) bytes is not sent; at most \(maximumBody)")
    }
    return .init(body: Bytes(count: Int(count)) { _ = $0.initializeMemory(as: UInt8.self, repeating: 0) })
  }
}

extension GRPCTesting.EchoStatus {
  /// Ends the call with this status, its message untouched; does nothing when it is OK.
  func end() throws(RPCError) {
    guard code != 0 else { return }
    throw RPCError(StatusCode(rawValue: Int(code)) ?? .unknown, message)
  }
}

extension GRPCTesting.BoolValue {
  /// Refuses the request read last if it came otherwise than this says: true for compressed.
  func check(_ call: CallContext) throws(RPCError) {
    guard call.requestWasCompressed != value else { return }
    throw RPCError(.invalidArgument, "the request came \(value ? "uncompressed" : "compressed"), against its own word")
  }

  /// How a response is sent for which this was asked.
  var compression: MessageCompression { value ? .gzip : .identity }
}
