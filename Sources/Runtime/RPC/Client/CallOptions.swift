/// How one call differs from the channel's defaults.
public struct CallOptions: Sendable {
  /// Sent along with the call.
  public var metadata: Metadata
  /// When the caller stops waiting. A call made while serving another one never outlives that one's deadline.
  public var deadline: Deadline?
  /// Whether to wait for a connection instead of failing while there is none.
  public var waitsForReady: Bool
  /// The most bytes that a response message may have once restored, or the channel's own limit.
  public var maximumResponseBytes: Int?
  /// How requests are compressed, or the channel's own choice.
  public var compression: MessageCompression?
  /// Whether a method without side effects may be called by GET (Connect, unary), so that caches can answer.
  public var prefersGET: Bool

  /// Options with everything at its default.
  public init(
    metadata: Metadata = [:], deadline: Deadline? = nil, waitsForReady: Bool = false, maximumResponseBytes: Int? = nil,
    compression: MessageCompression? = nil, prefersGET: Bool = false
  ) {
    self.metadata = metadata
    self.deadline = deadline
    self.waitsForReady = waitsForReady
    self.maximumResponseBytes = maximumResponseBytes
    self.compression = compression
    self.prefersGET = prefersGET
  }

  /// A deadline `timeout` from now.
  public static func timeout(_ timeout: Duration) -> CallOptions { CallOptions(deadline: .after(timeout)) }

  /// The deadline that holds: this one or that of the call being served, whichever is earlier.
  public var effectiveDeadline: Deadline? {
    guard let inherited = CallContext.current?.deadline else { return deadline }
    return min(deadline ?? inherited, inherited)
  }
}
