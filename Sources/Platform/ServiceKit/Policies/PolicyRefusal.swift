internal import RPC

/// Why a call is refused by what its method's options ask for: code, text and reason, the same in every service.
enum PolicyRefusal: Sendable, Hashable {
  case limited(MethodLimit.Sharing)
  case limiterUnavailable
  case invalidKey(String)
  case keyReused
  case keyInUse
  case answerNotKept

  private var code: StatusCode {
    switch self {
    case .limited: .resourceExhausted
    case .limiterUnavailable: .unavailable
    case .invalidKey: .invalidArgument
    case .keyReused: .alreadyExists
    case .keyInUse: .aborted
    case .answerNotKept: .failedPrecondition
    }
  }

  private var reason: String {
    switch self {
    case .limited(.address): "RATE_LIMITED_IP"
    case .limited(.user), .limited(.session): "RATE_LIMITED_USER"
    case .limited(.device): "RATE_LIMITED_DEVICE"
    case .limiterUnavailable: "LIMITER_UNAVAILABLE"
    case .invalidKey: "INVALID_ARGUMENT"
    case .keyReused: "IDEMPOTENCY_KEY_REUSED"
    case .keyInUse: "IDEMPOTENCY_KEY_IN_USE"
    case .answerNotKept: "ANSWER_NOT_KEPT"
    }
  }

  private var text: String {
    switch self {
    case .limited(.address): "rate limit (ip)"
    case .limited(.user): "rate limit (user)"
    case .limited(.session): "rate limit (session)"
    case .limited(.device): "rate limit (device)"
    case .limiterUnavailable: "rate limiter unavailable"
    case .invalidKey(let problem): "idempotency_key: \(problem)"
    case .keyReused: "the idempotency key was used for another request"
    case .keyInUse: "a request with this idempotency key is running"
    case .answerNotKept: "this was done before, and its answer was too large to be kept"
    }
  }

  /// The refusal as it is sent; `cause` is for the log alone.
  func rpcError(
    retryAfter: Duration? = nil, hints: [String: String] = [:], metadata: Metadata = Metadata(), cause: (any Error)? = nil
  ) -> RPCError {
    var details: [ErrorDetail] = [.errorInfo(reason: reason, domain: "parley.auth.v1", metadata: hints)]
    if case .invalidKey(let problem) = self {
      details.append(.badRequest([.init(field: "idempotency_key", description: problem)]))
    }
    if let delay = retryAfter ?? (code == .unavailable ? .seconds(1) : nil) { details.append(.retryInfo(delay)) }
    return RPCError(code, text, details: details, metadata: metadata, cause: cause)
  }
}
