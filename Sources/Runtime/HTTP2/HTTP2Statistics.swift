/// What the connections of one loop have lived through since the process began. Numbers only grow.
public struct HTTP2Statistics: Sendable, Hashable {
  /// Requests received (by a server) or sent (by a client).
  public var streamsOpened = 0
  /// Streams that the peer has reset.
  public var resetsReceived = 0
  /// Streams that this side has reset.
  public var resetsSent = 0
  /// What peers did without any use: see `HTTP2Limits.glitchBurst`.
  public var glitches = 0
  /// Connections that were ended with ENHANCE_YOUR_CALM.
  public var connectionsEndedForAbuse = 0
  /// Responses, and connections, that were given up because the peer took nothing of them for too long.
  public var stalls = 0

  /// Nothing has happened yet.
  public init() {}

  /// What two loops have lived through together.
  public static func + (left: HTTP2Statistics, right: HTTP2Statistics) -> HTTP2Statistics {
    var sum = left
    sum.streamsOpened += right.streamsOpened
    sum.resetsReceived += right.resetsReceived
    sum.resetsSent += right.resetsSent
    sum.glitches += right.glitches
    sum.connectionsEndedForAbuse += right.connectionsEndedForAbuse
    sum.stalls += right.stalls
    return sum
  }
}
