/// What a call fails with, on either side of the wire.
///
/// Code, message, details and metadata are sent to the caller, so nothing in them may be secret; ``cause`` stays in the
/// process, for the log. A handler that throws any other error is answered with ``StatusCode/internal`` and an incident id.
public struct RPCError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public var code: StatusCode
  /// For the developer at the other end.
  public var message: String
  /// Machine-readable particulars, sent as `google.rpc.Status` details.
  public var details: [ErrorDetail]
  /// Sent with the status: trailing metadata.
  public var metadata: Metadata
  /// The headers of the response that ended in this error, on the side of the caller; never sent.
  ///
  /// Empty where none came, also for a response of gRPC whose headers are its trailers ("Trailers-Only"): those are in ``metadata``.
  public var initialMetadata = Metadata()
  /// What led to it; never sent.
  public var cause: (any Error)?

  /// An error of the given kind. `code` is never ``StatusCode/ok``.
  public init(
    _ code: StatusCode, _ message: String, details: [ErrorDetail] = [], metadata: Metadata = [:], cause: (any Error)? = nil
  ) {
    precondition(code != .ok, "an error is not OK")
    self.code = code
    self.message = message
    self.details = details
    self.metadata = metadata
    self.cause = cause
  }

  /// The `reason` of the first ``ErrorDetail/errorInfo(reason:domain:metadata:)``.
  public var reason: String? {
    for case .errorInfo(let reason, _, _) in details { return reason }
    return nil
  }

  /// How long the server asks the caller to wait before it repeats the call.
  public var retryAfter: Duration? {
    for case .retryInfo(let delay) in details { return delay }
    return metadata["retry-after"].flatMap(Int64.init).map { .seconds($0) }
  }

  /// Code, reason and message, for logs.
  public var description: String {
    let reason = reason.map { " [\($0)]" } ?? ""
    return "\(code.name)\(reason): \(message)"
  }
}

/// One machine-readable particular of an ``RPCError``: the details of `google.rpc` that are used here, and whatever else a
/// peer sent.
public enum ErrorDetail: Sendable, Hashable {
  /// `google.rpc.ErrorInfo`: a stable reason code within a domain, with bounded particulars.
  case errorInfo(reason: String, domain: String, metadata: [String: String])
  /// `google.rpc.RetryInfo`: how long to wait.
  case retryInfo(Duration)
  /// `google.rpc.BadRequest`: which fields are wrong, and how.
  case badRequest([FieldViolation])
  /// Any other detail, as its type URL and its encoding.
  case other(typeURL: String, bytes: [UInt8])

  /// One wrong field of a request.
  public struct FieldViolation: Sendable, Hashable {
    /// The path of the field, as in `user.email`.
    public var field: String
    /// What is wrong with it.
    public var description: String

    /// Names a field and what is wrong with it.
    public init(field: String, description: String) {
      self.field = field
      self.description = description
    }
  }
}
