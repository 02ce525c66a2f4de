import ErrorReasons
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

  /// The HTTP status that came in the place of an answer, or the one that stands for the error.
  var toldStatus: Int { (cause as? AnsweredStatus)?.status ?? httpStatus }
}
