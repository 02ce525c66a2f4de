internal import CNghttp2

/// How a client behaves: tells the frames that are part of honest work from those that are not, and adds the latter up.
///
/// One bucket holds all of them, so that a mixed flood ends like a pure one. What work brings with it is free: a PING after a request
/// or a response's DATA (clients measure round trips so), and a few WINDOW_UPDATEs for each of these.
struct Conduct {
  /// DATA that is shorter than a message's prefix cannot have been worth a frame.
  static let tinyBytes = 5
  /// DATA that is sent counts as work if it is at least so long, or holds all that waited: a peer that opens its window by single
  /// bytes gets no credit for the frames that it causes.
  static let usefulBytes = 1_024
  private static let updatesPerWork = 4
  /// A peer that reads late may send the WINDOW_UPDATEs of so many DATA frames at once.
  private static let keptUpdates = 16_384

  /// Requests received and useful DATA sent.
  var work = 0
  /// CONTINUATION frames of the header block that is being received.
  var continuations = 0
  private var workAtPing = -1
  private var workAtUpdate = 0
  private var freeUpdates = 0
  /// What all of it comes to.
  var abuse = AbuseScore()
  /// Streams that ended at their deadline and may still be reset by a caller that counts its own time.
  private var expired = 0
  private static let keptExpired = 16_384

  /// What is wrong with a frame other than DATA and HEADERS; nil when it is in order.
  ///
  /// - Parameter limit: CONTINUATION frames that a header block may have.
  mutating func glitch(of frame: FrameScanner.Header, continuations limit: Int) -> Glitch? {
    switch UInt32(frame.type) {
    case NGHTTP2_WINDOW_UPDATE.rawValue: return takeUpdate() ? nil : .windowUpdate
    // Judged once it is known what became of its stream.
    case NGHTTP2_RST_STREAM.rawValue: return nil
    case NGHTTP2_CONTINUATION.rawValue:
      continuations += 1
      return continuations > limit ? .continuation : nil
    case NGHTTP2_PING.rawValue:
      guard frame.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 else { return .pingAnswer }
      defer { workAtPing = work }
      return work != workAtPing ? nil : .ping
    case NGHTTP2_SETTINGS.rawValue:
      // nghttp2 ends a connection that acknowledges what nobody sent.
      return frame.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 ? .settings : nil
    case NGHTTP2_PRIORITY.rawValue: return .priority
    default: return .unknownFrame
    }
  }

  /// What is wrong with DATA of so many bytes without padding that does not end its stream.
  static func glitch(ofData bytes: Int) -> Glitch? { bytes == 0 ? .emptyData : bytes < tinyBytes ? .tinyData : nil }

  /// A stream ended at its deadline, and its caller has not reset it.
  mutating func noteExpired() { expired = min(expired + 1, Self.keptExpired) }

  /// Whether the reset of a stream that is gone may be that of a caller whose deadline passed, which costs nothing.
  mutating func takeExpired() -> Bool {
    guard expired > 0 else { return false }
    expired -= 1
    return true
  }

  private mutating func takeUpdate() -> Bool {
    freeUpdates = min(freeUpdates + (work - workAtUpdate) * Self.updatesPerWork, Self.keptUpdates)
    workAtUpdate = work
    guard freeUpdates > 0 else { return false }
    freeUpdates -= 1
    return true
  }
}
