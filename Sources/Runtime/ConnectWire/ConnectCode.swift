package import RPC

/// The names and HTTP statuses that the Connect protocol gives to status codes.
package enum ConnectCode {
  /// The name in error JSON: `deadline_exceeded`; `canceled` has one l.
  package static func name(_ code: StatusCode) -> String {
    code == .cancelled ? "canceled" : code.name.lowercased()
  }

  /// The code of a name, or nil for an unknown one.
  package static func code(named name: String) -> StatusCode? { byName[name] }

  /// The HTTP status of a unary response with this error.
  package static func httpStatus(_ code: StatusCode) -> Int {
    switch code {
    case .ok: 200
    case .cancelled: 499
    case .invalidArgument, .failedPrecondition, .outOfRange: 400
    case .unauthenticated: 401
    case .permissionDenied: 403
    case .notFound: 404
    case .alreadyExists, .aborted: 409
    case .resourceExhausted: 429
    case .unknown, .internal, .dataLoss: 500
    case .unimplemented: 501
    case .unavailable: 503
    case .deadlineExceeded: 504
    }
  }

  /// What an HTTP status means whose body is no Connect error: something in between has answered.
  ///
  /// Connect's own table ("HTTP to Error Code") and gRPC's (`http-grpc-status-mapping.md`) are the same.
  package static func code(httpStatus: Int) -> StatusCode {
    switch httpStatus {
    case 400: .internal
    case 401: .unauthenticated
    case 403: .permissionDenied
    case 404: .unimplemented
    case 429, 502, 503, 504: .unavailable
    default: .unknown
    }
  }

  private static let byName = Dictionary(
    uniqueKeysWithValues: StatusCode.allCases.filter { $0 != .ok }.map { (name($0), $0) })
}
