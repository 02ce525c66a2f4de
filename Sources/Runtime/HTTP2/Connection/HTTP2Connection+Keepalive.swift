internal import EventLoop

extension HTTP2Connection {
  /// Finds out whether a silent peer is still there: no packet says that a machine is gone. gRFC A9.
  func lookAtKeepalive(_ now: MonotonicInstant) -> MonotonicInstant? {
    guard let time = resources.limits.keepaliveTime else { return nil }
    if let pinged = vigil.pinged, lastActivity < pinged {
      let end = pinged.advanced(by: resources.limits.keepaliveTimeout)
      // The answer may come long before the end of its time, and the next silence begins with it.
      guard now >= end else { return min(end, now.advanced(by: time)) }
      close(HTTP2Error(.keepaliveTimeout, "no answer to a PING within \(resources.limits.keepaliveTimeout)"))
      return nil
    }
    vigil.pinged = nil
    let due = lastActivity.advanced(by: time)
    guard now >= due else { return due }
    // Nothing is read while it does not read either; its stall is bounded by itself.
    guard !isReadingPaused else { return now.advanced(by: time) }
    vigil.pinged = now
    ping { _ in }
    return now.advanced(by: min(time, resources.limits.keepaliveTimeout))
  }
}
