/// Sees every attempt of every request: for metrics and traces.
public protocol OutboundObserver: Sendable {
  /// An attempt is about to be sent, in the task that waits for it. What is added to `headers` goes with this attempt alone.
  ///
  /// - Returns: Who is told what becomes of it, or nil when nobody is interested.
  func attemptBegins(_ attempt: OutboundAttempt, headers: inout HTTPHeaders) -> (any OutboundObservation)?
}

/// What becomes of one attempt.
public protocol OutboundObservation: Sendable {
  /// It has ended: with a response, whatever its status, or without one.
  func attemptEnds(_ outcome: Result<HTTPResponse, OutboundError>)
}

/// One attempt of a request, without anything that could be secret.
public struct OutboundAttempt: Sendable, Hashable {
  /// The method.
  public let method: HTTPMethod
  /// The URL without its query and fragment.
  public let url: String
  /// Scheme, host and port: `https://api.example.com:443`.
  public let origin: String
  /// 1 for the first attempt of a request.
  public let number: Int

  init(_ method: HTTPMethod, _ target: TargetURL, number: Int) {
    self.method = method
    url = target.safeText
    origin = target.origin
    self.number = number
  }
}
