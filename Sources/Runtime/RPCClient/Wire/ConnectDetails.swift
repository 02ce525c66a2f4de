internal import ConnectWire
internal import JSON
internal import RPC
internal import RPCWire

/// Errors of the Connect protocol with their details decoded from wire format.
enum ConnectDetails {
  /// The error in the body of a failed unary call; nil when it is none.
  static func error(_ body: UnsafeRawBufferPointer, _ attempt: CallAttempt, fallback: StatusCode) -> RPCError? {
    let read = { (bytes: UnsafeRawBufferPointer) -> RPCError? in
      guard let json = try? JSONParser.parse([UInt8](bytes)) else { return nil }
      return ConnectError.read(json, fallback: fallback, detail: StatusDetails.detail)
    }
    guard attempt.responseCompression != .identity, !body.isEmpty else { return read(body) }
    return try? attempt.part.coding.restoring(body, attempt.responseCompression, maximumBytes: 256 << 10, read)
  }
}
