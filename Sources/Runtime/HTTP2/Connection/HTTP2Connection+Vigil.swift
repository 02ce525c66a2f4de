internal import EventLoop

/// What the passing of time means for a served connection, beyond its handshake and its end. Each part says when it wants to be
/// looked at next; one timer serves all of them, and no request touches it.
struct ConnectionVigil {
  /// When the header list began that is not whole yet.
  var headersBegan: MonotonicInstant?
  /// When the TLS record began that is not whole yet.
  var recordBegan: MonotonicInstant?
  /// When the peer was last asked for a sign of life, until it gives one.
  var pinged: MonotonicInstant?
  /// When the connection is old, and how much later the calls in it are cut off.
  var oldAge: MonotonicInstant?
  /// Whether anything waits that could stall.
  var watchesStalls = false
  /// How the socket gets on.
  var socket = StreamProgress()
  /// Bytes that the socket took of those that had waited.
  var socketProgress: Int {
    get { socket.bytes }
    set { socket.bytes = newValue }
  }
}

extension HTTP2Connection {
  func beginVigil() {
    if let age = resources.limits.maximumAge {
      var generator = SystemRandomNumberGenerator()
      vigil.oldAge = loop.now.advanced(by: ConnectionAge.jittered(age, using: &generator))
    }
    look()
  }

  func endVigil() {
    if let vigilTimer { loop.disarm(vigilTimer) }
  }

  /// Looks at that moment, or before.
  func look(at moment: MonotonicInstant) {
    let timer = vigilTimer ?? makeVigilTimer()
    if !timer.isArmed || moment < timer.deadline { loop.arm(timer, at: moment) }
  }

  private func makeVigilTimer() -> LoopTimer {
    let timer = LoopTimer { [unowned self] in look() }
    vigilTimer = timer
    return timer
  }

  private func look() {
    let now = loop.now
    var next = MonotonicInstant.distantFuture
    if let moment = lookAtHeaders(now) { next = min(next, moment) }
    if !isClosed, let moment = lookAtAge(now) { next = min(next, moment) }
    if !isClosed, let moment = lookAtKeepalive(now) { next = min(next, moment) }
    if !isClosed, let moment = lookAtStalls(now) { next = min(next, moment) }
    if !isClosed, let moment = lookAtWaiters(now) { next = min(next, moment) }
    if !isClosed, next < .distantFuture { look(at: next) }
  }
}
