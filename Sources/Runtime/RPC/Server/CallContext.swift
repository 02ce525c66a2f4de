/// What a handler knows about the call it serves, and how it says more than its messages do.
///
/// A plain value that may be passed along, to other tasks and actors as well.
public struct CallContext: Sendable {
  /// The transport's side of the call.
  public let call: any ServerCall

  /// Wraps a call.
  @inlinable
  public init(_ call: any ServerCall) { self.call = call }

  /// The context of the call that the current task serves; clients take their deadline from it.
  @TaskLocal public static var current: CallContext?

  /// The method called.
  public var method: MethodInfo { call.method }
  /// What the caller sent along.
  public var metadata: Metadata { call.metadata }
  /// When the caller stops waiting, or nil. The task is cancelled then.
  public var deadline: Deadline? { call.deadline }
  /// The other end of the connection.
  public var peer: Peer { call.peer }
  /// Who the caller is by the certificate that its connection was opened with (mutual TLS), or nil.
  public var peerIdentity: PeerIdentity? { call.peer.identity }

  /// Says that the request has been worked on and is kept no longer: where large ones wait for each other, the next one may come while
  /// this call still waits for what its answer takes. A handler that does so takes its request as `consuming`, and consumes it.
  public func letGoOfRequest() { call.letGoOfRequest() }

  /// Headers to send before the first message.
  public var initialMetadata: Metadata {
    get { call.initialMetadata }
    nonmutating set { call.initialMetadata = newValue }
  }

  /// Sends ``initialMetadata`` now, of a call that streams responses: its caller learns that somebody listens, and can no longer
  /// try the call elsewhere.
  public func sendInitialMetadata() { call.sendInitialMetadata() }

  /// Trailers to send with the status.
  public var trailingMetadata: Metadata {
    get { call.trailingMetadata }
    nonmutating set { call.trailingMetadata = newValue }
  }

  /// Whether the request message read last came compressed.
  public var requestWasCompressed: Bool { call.requestWasCompressed }

  /// How response messages are compressed from here on, where the caller accepts it; see
  /// ``ServerCall/responseCompression``.
  public var responseCompression: MessageCompression {
    get { call.responseCompression }
    nonmutating set { call.responseCompression = newValue }
  }

  /// The value that an interceptor attached under `key`.
  public subscript<Key: CallValueKey>(key: Key.Type) -> Key.Value? {
    // The call's own subscript, in place: calling it costs 80 instructions more.
    @inlinable get { call.values[key] }
    @inlinable nonmutating set { call.updateValues { $0[key] = newValue } }
  }
}
