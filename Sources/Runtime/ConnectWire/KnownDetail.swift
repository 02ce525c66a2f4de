package import MessagesCore
package import RPC
internal import WellKnown

/// The details of errors whose messages are known here: `ErrorInfo`, `RetryInfo` and `BadRequest` of `google.rpc`.
package enum KnownDetail {
  /// One detail in a form that messages can be read from: wire format or JSON.
  package protocol Form {
    /// The message, or nil when it cannot be read.
    func message<M: Message>(_ type: M.Type) -> M?
  }

  /// The message that a detail stands for; nil for one that is kept as bytes.
  package static func message(of detail: ErrorDetail) -> (any Message)? {
    switch detail {
    case .errorInfo(let reason, let domain, let metadata):
      GoogleRPC.ErrorInfo(reason: reason, domain: domain, metadata: metadata)
    case .retryInfo(let delay):
      GoogleRPC.RetryInfo(
        retryDelay: .init(seconds: delay.components.seconds, nanos: Int32(delay.components.attoseconds / 1_000_000_000)))
    case .badRequest(let violations):
      GoogleRPC.BadRequest(fieldViolations: violations.map { .init(field: $0.field, description: $0.description) })
    case .other: nil
    }
  }

  /// The detail of a message.
  ///
  /// - Parameter type: The full name of the message: `google.rpc.RetryInfo`.
  /// - Returns: nil when the message is not known here or cannot be read.
  package static func detail(_ type: some StringProtocol, from form: some Form) -> ErrorDetail? {
    switch type {
    case "google.rpc.ErrorInfo":
      form.message(GoogleRPC.ErrorInfo.self).map { .errorInfo(reason: $0.reason, domain: $0.domain, metadata: $0.metadata) }
    case "google.rpc.RetryInfo":
      form.message(GoogleRPC.RetryInfo.self)?.retryDelay.map {
        .retryInfo(.seconds($0.seconds) + .nanoseconds(Int64($0.nanos)))
      }
    case "google.rpc.BadRequest":
      form.message(GoogleRPC.BadRequest.self).map { request in
        .badRequest(request.fieldViolations.map { .init(field: $0.field, description: $0.description) })
      }
    default: nil
    }
  }
}
