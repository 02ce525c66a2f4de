/// Sees every call of a server, as its handler begins and as it ends, or as it is refused before that: what an interceptor that only
/// looks on costs a call in async frames, it does not.
///
/// Told on the loop of the call.
public protocol ServerCallObserver: AnyObject, Sendable {
  /// The call's handler, or the first of its interceptors, is about to run.
  func callBegins(_ call: any ServerCall)

  /// It has returned or thrown; what the caller is told comes after this.
  ///
  /// - Parameters:
  ///   - call: The call.
  ///   - start: When it began, in nanoseconds of the monotonic clock.
  ///   - error: What was thrown, or nil.
  func callEnds(_ call: any ServerCall, since start: UInt64, _ error: (any Error)?)

  /// A call whose headers had come is over, and no handler has seen it: its method is not known here, its request too large or never
  /// whole, its deadline over, or there is too much to do. Neither ``callBegins(_:)`` nor ``callEnds(_:since:_:)`` is told of it.
  ///
  /// - Parameters:
  ///   - call: The call. That of a method which is not served here has one without a name.
  ///   - start: When its headers came, in nanoseconds of the monotonic clock, as exactly as the loop's tick.
  ///   - error: What the caller is told, or CANCELLED where the caller has given up.
  func callRefused(_ call: any ServerCall, since start: UInt64, _ error: RPCError)
}
