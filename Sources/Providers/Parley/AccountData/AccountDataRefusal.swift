public import RPC

/// Why a service does not do what `parley.internal.v1.AccountDataService` was asked to: the names of its `ErrorReason` without their prefix.
public enum AccountDataRefusal: String, Sendable, Hashable, CaseIterable {
  /// A field is not what it has to be.
  case invalidArgument = "INVALID_ARGUMENT"
  /// Nobody has asked for the deletion.
  case deletionNotAsked = "DELETION_NOT_ASKED"
  /// The deletion's turn comes when other services have done their parts.
  case deletionNotDue = "DELETION_NOT_DUE"
  /// What the service keeps cannot be handed out: a defect of its own.
  case malformedDocument = "MALFORMED_DOCUMENT"

  /// The domain of the reasons.
  public static let domain = "parley.internal.v1"

  private var code: StatusCode {
    switch self {
    case .invalidArgument: .invalidArgument
    case .deletionNotAsked: .failedPrecondition
    case .deletionNotDue: .unavailable
    case .malformedDocument: .internal
    }
  }

  /// The refusal as it is sent.
  ///
  /// - Parameters:
  ///   - text: What to say.
  ///   - detail: What else is told.
  public func rpcError(_ text: String, adding detail: ErrorDetail? = nil) -> RPCError {
    RPCError(
      code, text, details: [.errorInfo(reason: rawValue, domain: Self.domain, metadata: [:])] + [detail].compactMap(\.self))
  }
}
