/// Sees every call of a channel and every attempt of it: for metrics and traces. A channel without one pays nothing.
public protocol ClientCallObserver: Sendable {
  /// A call begins, in the task that makes it.
  ///
  /// - Parameters:
  ///   - method: What is called.
  ///   - target: Where the channel leads, as its configuration says it.
  /// - Returns: Who is told what becomes of it, or nil.
  func callBegins(_ method: MethodInfo, target: String) -> (any ClientCallObservation)?
}

/// What becomes of one call. Told on the loop of the call.
public protocol ClientCallObservation: AnyObject, Sendable {
  /// An attempt is about to be sent. What is added to `metadata` goes with this attempt alone.
  ///
  /// - Parameters:
  ///   - previousAttempts: Attempts before this one that a server may have seen.
  ///   - metadata: What is sent with the attempt.
  func attemptBegins(previousAttempts: Int, metadata: inout Metadata)

  /// The attempt that began last has ended.
  ///
  /// - Parameters:
  ///   - error: Why it failed, or nil.
  ///   - traffic: Bytes of its messages on the wire, as far as they are known by then.
  ///   - peer: The server's end of the connection, or nil when there was none.
  func attemptEnds(_ error: RPCError?, traffic: CallTraffic, peer: Peer?)

  /// The call is over, with all its attempts.
  ///
  /// - Parameter error: What the caller is told, or nil.
  func callEnds(_ error: RPCError?)
}
