/// The result of a call, as gRPC numbers it.
public enum StatusCode: Int, Sendable, Hashable, CaseIterable {
  /// The call succeeded.
  case ok = 0
  /// The caller gave up.
  case cancelled = 1
  /// The peer failed without saying how.
  case unknown = 2
  /// The request is wrong whatever the state of the system.
  case invalidArgument = 3
  /// The deadline passed before the call was done.
  case deadlineExceeded = 4
  /// The thing asked for does not exist, or not for this caller.
  case notFound = 5
  /// The thing to be created exists.
  case alreadyExists = 6
  /// The caller is known and may not do this.
  case permissionDenied = 7
  /// A limit or quota is used up.
  case resourceExhausted = 8
  /// The state of the system forbids it; repeating does not help.
  case failedPrecondition = 9
  /// A conflict with another call; the whole operation may be repeated.
  case aborted = 10
  /// Past the valid range.
  case outOfRange = 11
  /// No such method here.
  case unimplemented = 12
  /// A defect of the server.
  case `internal` = 13
  /// The service cannot answer now; the same call may be repeated.
  case unavailable = 14
  /// Data is lost for good.
  case dataLoss = 15
  /// The caller is not known: no credentials, or bad ones.
  case unauthenticated = 16

  /// The name in the specification: `DEADLINE_EXCEEDED`.
  public var name: String {
    switch self {
    case .ok: "OK"
    case .cancelled: "CANCELLED"
    case .unknown: "UNKNOWN"
    case .invalidArgument: "INVALID_ARGUMENT"
    case .deadlineExceeded: "DEADLINE_EXCEEDED"
    case .notFound: "NOT_FOUND"
    case .alreadyExists: "ALREADY_EXISTS"
    case .permissionDenied: "PERMISSION_DENIED"
    case .resourceExhausted: "RESOURCE_EXHAUSTED"
    case .failedPrecondition: "FAILED_PRECONDITION"
    case .aborted: "ABORTED"
    case .outOfRange: "OUT_OF_RANGE"
    case .unimplemented: "UNIMPLEMENTED"
    case .internal: "INTERNAL"
    case .unavailable: "UNAVAILABLE"
    case .dataLoss: "DATA_LOSS"
    case .unauthenticated: "UNAUTHENTICATED"
    }
  }
}
