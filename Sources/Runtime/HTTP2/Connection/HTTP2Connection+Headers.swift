internal import EventLoop

/// Header lists, and control frames, that come byte by byte.
extension HTTP2Connection {
  /// Takes note of a header list that has begun and is not whole, at the end of each read.
  @inline(__always)
  func noteHeaders() {
    if scanner.isAmidFrame {
      awaitHeaders()
    } else if vigil.headersBegan != nil {
      vigil.headersBegan = nil
    }
  }

  private func awaitHeaders() {
    // A busy peer's reads end inside frames all the time, each time inside another one.
    guard scanner.hasBegun || vigil.headersBegan == nil, !isClosed else { return }
    vigil.headersBegan = loop.now
    look(at: loop.now.advanced(by: resources.limits.headerTimeout))
  }

  /// Takes note of a TLS record that has begun and is not whole, at the end of each read: another one than before if there was
  /// plaintext in that read.
  func noteRecord(isAmid: Bool, isAnother: Bool) {
    if !isAmid || !isReady {
      vigil.recordBegan = nil
    } else if vigil.recordBegan == nil || isAnother {
      vigil.recordBegan = loop.now
      look(at: loop.now.advanced(by: resources.limits.headerTimeout))
    }
  }

  func lookAtHeaders(_ now: MonotonicInstant) -> MonotonicInstant? {
    let limit = resources.limits.headerTimeout
    if let began = vigil.headersBegan {
      let end = began.advanced(by: limit)
      guard now >= end else { return end }
      vigil.headersBegan = nil
      violated(.enhanceYourCalm, "a header list was not complete within \(limit)", as: .headerTimeout)
      return nil
    }
    if let began = vigil.recordBegan {
      let end = began.advanced(by: limit)
      guard now >= end else { return end }
      vigil.recordBegan = nil
      // A body may take its time.
      if streams.isEmpty { drain() }
    }
    return nil
  }
}
