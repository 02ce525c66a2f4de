public import JudgeAPI
internal import MessagesCore
internal import MessagesWire
public import RPC
internal import RPCWire
internal import WellKnown

extension RPCError {
  /// The error that the judge defines; `details` follow those that it lists.
  public init(_ definition: Judged.Error, details: [ErrorDetail] = []) {
    let code = StatusCode(rawValue: Int(definition.code.rawValue)) ?? .unknown
    self.init(
      code == .ok ? .unknown : code, definition.message ?? "",
      details: definition.details.map { .other(typeURL: $0.typeURL, bytes: [UInt8]($0.value)) } + details)
  }

  /// What the judge reads of this error.
  public var report: Judged.Error {
    var report = Judged.Error(code: .init(rawValue: Int32(code.rawValue)), message: message)
    // The wire's own form of the details, so that those which the runtime knows by name are packed as they would travel.
    let status = StatusDetails.encode(self).flatMap { try? GoogleRPC.Status(protobuf: $0) }
    report.details = status?.details ?? []
    return report
  }
}
