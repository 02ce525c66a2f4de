internal import Idempotency
internal import MessagesCore
internal import MessagesWire
internal import RPC
internal import RPCWire
internal import WellKnown

extension StoredAnswer {
  /// The codes that a repeated request could never change. Whatever else fails may be tried again, and is not kept: nothing was
  /// done, or somebody can mend what stood in the way (a step-up, a subscription).
  private static var final: Set<StatusCode> {
    [.invalidArgument, .notFound, .alreadyExists, .permissionDenied, .outOfRange]
  }

  /// The refusal as it is kept; nil when it is not final.
  init?(_ error: RPCError) {
    guard Self.final.contains(error.code), let bytes = StatusDetails.encode(error) else { return nil }
    self.init(status: error.code.rawValue, bytes: bytes)
  }

  /// The refusal that was kept.
  var error: RPCError? {
    guard status != StatusCode.ok.rawValue else { return nil }
    let bytes = bytes ?? []
    let message = (try? GoogleRPC.Status(protobuf: bytes))?.message ?? ""
    return RPCError(StatusCode(rawValue: status) ?? .unknown, message, details: StatusDetails.decode(bytes))
  }
}
