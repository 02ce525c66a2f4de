/// What a server remembers of the streams that are gone, so that it can tell a frame that is merely late from one that breaks
/// the rules. nghttp2 ignores both.
///
/// Only exceptions are kept: identifiers that the peer skipped, and streams that the server gave up while the peer could still be
/// sending. Everything else up to the highest identifier was ended by the peer. A connection that uses its streams in order costs
/// a comparison per stream, however many it has. Each list is bounded; of what was dropped from one nothing is known any more,
/// and late frames for it are let pass.
struct StreamHistory {
  /// What a DATA or HEADERS frame for a stream that is not open means.
  enum Verdict {
    /// The server ended the stream first, or cannot tell: the frame is ignored (RFC 9113, section 5.4.2).
    case late
    /// The peer had ended the stream itself: a connection error STREAM_CLOSED (section 5.1).
    case ended
    /// A higher identifier came first: a connection error PROTOCOL_ERROR (section 5.1.1).
    case neverOpened
  }

  private static let keptEntries = 256

  /// Whether identifiers were skipped.
  var hasGaps: Bool { !skipped.isEmpty }

  /// The highest identifier of a request; -1 before the first.
  private(set) var highest: Int32 = -1
  private var skipped: [ClosedRange<Int32>] = []
  private var abandoned: [Int32] = []
  private var nextAbandoned = 0
  /// Up to this identifier something was dropped.
  private var forgotten: Int32 = 0

  /// A stream was opened, with an odd identifier above the highest.
  @inline(__always)
  mutating func open(_ id: Int32) {
    if id != highest + 2 { skip(to: id) }
    highest = id
  }

  /// A stream was refused: its peer may not know that yet.
  mutating func refuse(_ id: Int32) {
    guard id > highest, id & 1 == 1 else { return }
    open(id)
    abandon(id)
  }

  /// A stream ended although the peer had neither ended nor reset it.
  mutating func abandon(_ id: Int32) {
    guard abandoned.count == Self.keptEntries else { return abandoned.append(id) }
    forgotten = max(forgotten, abandoned[nextAbandoned])
    abandoned[nextAbandoned] = id
    nextAbandoned = (nextAbandoned + 1) % Self.keptEntries
  }

  private mutating func skip(to id: Int32) {
    if skipped.count == Self.keptEntries { forgotten = max(forgotten, skipped.removeFirst().upperBound) }
    skipped.append(highest + 2...id - 2)
  }

  /// What a frame means whose identifier is odd and not above the highest, and whose stream is not open.
  func verdict(_ id: Int32) -> Verdict {
    if id <= forgotten || abandoned.contains(id) { return .late }
    return skipped.contains { $0.contains(id) } ? .neverOpened : .ended
  }
}
