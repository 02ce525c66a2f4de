import RPC

extension RPCError {
  /// Whether it arose on this side, without an answer: a server says why, or at least sends a header.
  var isFromHere: Bool {
    switch code {
    case .unavailable, .deadlineExceeded, .cancelled:
      details.isEmpty && metadata.isEmpty && !(cause is AnsweredStatus)
    default: false
    }
  }

  /// The HTTP status that came, or that stands for the error.
  var httpStatus: Int {
    if let answered = cause as? AnsweredStatus { return answered.status }
    return switch code {
    case .ok: 200
    case .invalidArgument: reason == "AUDIO_TOO_LARGE" ? 413 : 400
    case .outOfRange: 400
    case .unauthenticated: 401
    case .failedPrecondition: reason == "SUBSCRIPTION_REQUIRED" ? 402 : 400
    case .permissionDenied: 403
    case .notFound: 404
    case .unimplemented: 405
    case .aborted, .alreadyExists: 409
    case .resourceExhausted: 429
    case .cancelled: 499
    case .unavailable: 503
    case .deadlineExceeded: 504
    case .unknown, .internal, .dataLoss: 500
    }
  }
}
