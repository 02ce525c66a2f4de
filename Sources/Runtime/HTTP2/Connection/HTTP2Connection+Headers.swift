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

  /// Bytes that OpenSSL gives no plaintext for are a part of a record.
  func noteRecord(isWhole: Bool) {
    if isWhole || !isReady {
      vigil.recordBegan = nil
    } else if vigil.recordBegan == nil {
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
      // It may have been nothing but a change of keys: the end is a polite one.
      if streams.isEmpty { drain() }
    }
    return nil
  }
}
