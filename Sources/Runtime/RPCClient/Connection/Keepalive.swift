internal import EventLoop

/// Decides when a client asks its server for a sign of life, and when the silence has lasted too long: gRFC A8.
///
/// Anything that the server sends is a sign of life; a PING goes out only after nothing came for the keepalive time. Without
/// calls there is none, unless it is permitted, since servers take that for abuse.
struct Keepalive {
  enum Action: Sendable, Hashable {
    /// Look again at that moment.
    case wait(until: MonotonicInstant)
    /// Send a PING, and look again at that moment.
    case ping(until: MonotonicInstant)
    /// Nothing to do until there is a call.
    case sleep
    /// The server is gone.
    case close
  }

  private let time: Duration
  private let timeout: Duration
  private let permitsWithoutCalls: Bool
  private var pinged: MonotonicInstant?
  /// Nobody calls, so nobody asks; the next call asks at once.
  private(set) var isAsleep = false

  init(_ settings: ClientKeepalive, time: Duration) {
    self.time = time
    timeout = settings.timeout
    permitsWithoutCalls = settings.permitsWithoutCalls
  }

  /// Looks at the connection: when it has become ready, when the moment has come that the last action named, and when a call
  /// begins while it is asleep.
  ///
  /// - Parameter heard: When the server sent something for the last time.
  mutating func look(now: MonotonicInstant, heard: MonotonicInstant, hasCalls: Bool) -> Action {
    if let pinged {
      if heard < pinged {
        let end = pinged.advanced(by: timeout)
        return now >= end ? .close : .wait(until: end)
      }
      self.pinged = nil
    }
    let due = heard.advanced(by: time)
    guard now >= due else { return .wait(until: due) }
    guard hasCalls || permitsWithoutCalls else {
      isAsleep = true
      return .sleep
    }
    isAsleep = false
    pinged = now
    // An answer that has come by the time the next PING is due must not hold that back, however long the timeout is.
    return .ping(until: now.advanced(by: min(time, timeout)))
  }
}
