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
    case .invalidArgument where reason == "AUDIO_TOO_LARGE": 413
    case .failedPrecondition where reason == "SUBSCRIPTION_REQUIRED": 402
    default: code.httpStatus
    }
  }
}
