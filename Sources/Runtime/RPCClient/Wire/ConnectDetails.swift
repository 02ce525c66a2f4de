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
      return ConnectError.read(json, fallback: fallback, detail: detail)
    }
    guard attempt.responseCompression != .identity, !body.isEmpty else { return read(body) }
    return try? attempt.part.coding.restoring(body, attempt.responseCompression, maximumBytes: 256 << 10, read)
  }

  /// A detail by its wire format.
  static func detail(_ detail: ConnectError.Detail) -> ErrorDetail {
    StatusDetails.detail(typeURL: "type.googleapis.com/" + detail.type, value: detail.value)
  }
}
