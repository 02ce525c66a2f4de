extension StatusCode {
  /// The HTTP status that says the same to who knows no gRPC; services refine it by the reason of an error.
  public var httpStatus: Int {
    switch self {
    case .ok: 200
    case .invalidArgument, .outOfRange, .failedPrecondition: 400
    case .unauthenticated: 401
    case .permissionDenied: 403
    case .notFound: 404
    case .unimplemented: 405
    case .aborted, .alreadyExists: 409
    case .resourceExhausted: 429
    case .cancelled: 499
    case .internal, .unknown, .dataLoss: 500
    case .unavailable: 503
    case .deadlineExceeded: 504
    }
  }
}
