/// How a client finds out that its server is gone although no packet says so: gRFC A8.
public struct ClientKeepalive: Sendable, Hashable {
  /// How long nothing may come before the client asks with a PING; nil, the default, for never. Less than ``minimumTime`` is
  /// taken for that. Servers close connections that ask more often than they like: five minutes is what most permit.
  public var time: Duration?
  /// How long the answer may take before the connection is given up.
  public var timeout = Duration.seconds(20)
  /// Whether to ask also while there is no call.
  public var permitsWithoutCalls = false

  /// The least ``time`` that gRFC A8 lets a client have.
  public static let minimumTime = Duration.seconds(10)

  /// The bound below which ``time`` is raised: lower only for tests.
  package var enforcedMinimum = Self.minimumTime

  /// Off.
  public init(time: Duration? = nil) { self.time = time }

  /// The time that holds.
  var effectiveTime: Duration? { time.map { max($0, enforcedMinimum) } }
}
