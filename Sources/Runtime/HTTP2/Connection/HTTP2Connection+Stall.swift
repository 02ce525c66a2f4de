package import EventLoop

/// How bytes move, from one look at them to the next.
package struct StreamProgress {
  /// Less than this in the whole time that is allowed is no progress: a peer must not hold memory by taking a byte now and then.
  package static let least = 1_024

  /// Bytes that have moved since ``since``.
  package var bytes = 0
  /// When it had last moved enough; nil when nothing waited.
  private var since: MonotonicInstant?

  /// Nothing has waited yet.
  package init() {}

  /// Whether too little has moved for at least `limit`.
  package mutating func isStalled(_ now: MonotonicInstant, _ limit: Duration) -> Bool {
    guard let since, bytes < Self.least else {
      bytes = 0
      self.since = now
      return false
    }
    return now.duration(since: since) >= limit
  }

  /// Nothing waits.
  package mutating func rest() {
    since = nil
    bytes = 0
  }
}

/// Peers that open no window, read nothing from their socket, or stop in the middle of a large request.
extension HTTP2Connection {
  /// Something waits: looks follow until nothing does.
  func watchStalls() {
    guard !vigil.watchesStalls else { return }
    vigil.watchesStalls = true
    look(at: loop.now.advanced(by: stallLook))
  }

  private var stallLook: Duration { resources.limits.writeStallTimeout / 8 }

  func lookAtStalls(_ now: MonotonicInstant) -> MonotonicInstant? {
    guard vigil.watchesStalls else { return nil }
    let limit = resources.limits.writeStallTimeout
    if backlog != nil {
      if vigil.socket.isStalled(now, limit) {
        resources.statistics.stalls += 1
        close(HTTP2Error(.stalled, "the peer has read nothing for \(limit)"))
        return nil
      }
      // Their turn comes when the socket takes something.
      for stream in streams { stream.writing.rest() }
      return now.advanced(by: stallLook)
    }
    vigil.socket.rest()
    var waits = false
    for stream in streams { waits = look(at: stream, now, limit) || waits }
    vigil.watchesStalls = waits
    return waits ? now.advanced(by: stallLook) : nil
  }

  /// Returns whether the stream waits for its peer.
  private func look(at stream: HTTP2Stream, _ now: MonotonicInstant, _ limit: Duration) -> Bool {
    let writes = stream.countedOutbound > 0
    let reads = stream.admitted > stream.countedInbound && !stream.isRemoteClosed && !isReadingPaused
    if !writes { stream.writing.rest() }
    if !reads { stream.reading.rest() }
    let isStalled = writes && stream.writing.isStalled(now, limit) || reads && stream.reading.isStalled(now, limit)
    if isStalled {
      resources.statistics.stalls += 1
      stream.reset(.cancel)
    }
    return writes || reads
  }
}
