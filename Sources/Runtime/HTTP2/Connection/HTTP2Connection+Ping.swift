internal import CNghttp2
internal import EventLoop

/// A PING whose answer has not come yet.
struct OutstandingPing {
  let number: UInt64
  let sent: MonotonicInstant
  let answered: (Duration?) -> Void
}

extension HTTP2Connection {
  /// The number that the PING of a drain carries; the others count from one.
  static let drainPing: UInt64 = 0

  /// Asks the peer for a sign of life: RFC 9113, section 6.7.
  ///
  /// Any number of them may be outstanding; each is answered by its own acknowledgement. Nothing bounds the wait: whoever pings
  /// arms a timer and closes the connection when it fires.
  ///
  /// - Parameter answered: Called once, on the loop, possibly from inside nghttp2: with the time that the answer took, or with
  ///   nil when the connection closes first. When there is no connection to ask (closed, or its handshake not done), that is
  ///   before this returns.
  package func ping(_ answered: @escaping (Duration?) -> Void) {
    loop.assertInLoop()
    guard !isClosed, session != nil, isReady else { return answered(nil) }
    pingsSent += 1
    outstandingPings.append(OutstandingPing(number: pingsSent, sent: .now(), answered: answered))
    submitPing(pingsSent)
    scheduleFlush()
  }

  func submitPing(_ number: UInt64) {
    withUnsafeBytes(of: number.bigEndian) { payload in
      _ = nghttp2_submit_ping(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), payload.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
  }

  /// An acknowledgement came. One that nobody asked for means nothing.
  func pingAnswered(_ frame: UnsafePointer<nghttp2_frame>) {
    let number = withUnsafeBytes(of: frame.pointee.ping.opaque_data) { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
    if number == Self.drainPing {
      if drainPhase == 1 { sendFinalGoaway() }
    } else if let index = outstandingPings.firstIndex(where: { $0.number == number }) {
      let ping = outstandingPings.remove(at: index)
      ping.answered(MonotonicInstant.now().duration(since: ping.sent))
    }
  }

  /// The connection is closed: no answer will come.
  func abandonPings() {
    let pings = outstandingPings
    outstandingPings = []
    for ping in pings { ping.answered(nil) }
  }
}
