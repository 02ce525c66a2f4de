internal import EventLoop

/// How old a connection becomes.
package enum ConnectionAge {
  /// `age`, give or take a tenth: clients that came together do not all come back together.
  package static func jittered(_ age: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
    age * Double.random(in: 0.9...1.1, using: &generator)
  }
}

extension HTTP2Connection {
  /// Drains the connection when it is old, and cuts off what is still going on some time later.
  func lookAtAge(_ now: MonotonicInstant) -> MonotonicInstant? {
    guard let oldAge = vigil.oldAge else { return nil }
    guard now >= oldAge else { return oldAge }
    let grace = resources.limits.ageGrace
    let end = oldAge.advanced(by: grace)
    guard now < end else {
      close(HTTP2Error(.maximumAge, "calls went on for \(grace) after the connection had reached its maximum age"))
      return nil
    }
    drain()
    return end
  }
}
