/// Sees every call of a server whose handler runs, as it begins and as it ends: what an interceptor that only looks on costs a call
/// in async frames, it does not.
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
}
