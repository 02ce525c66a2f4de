public import MessagesCore

/// One call as the server's transport presents it: a stream of messages each way, with metadata around it.
///
/// The RPC server implements it for each wire protocol; handlers see it through ``CallContext``, ``RequestStream`` and
/// ``ResponseWriter``.
///
/// May be used from any task, thread and actor: what suspends visits the loop of the call by itself, and what does not is safe
/// wherever it is asked for. One reader at a time, and each response is whole whoever writes beside it. Metadata is set whole: of two
/// tasks that add to it at once, one may undo what the other has added.
public protocol ServerCall: AnyObject, Sendable {
  /// The method called.
  var method: MethodInfo { get }
  /// What the caller sent along.
  var metadata: Metadata { get }
  /// The first text value of one name in ``metadata``; cheaper than reading all of it.
  func metadataText(_ name: String) -> String?
  /// The caller's `authorization`; nil unless it sent exactly one: of two, nobody could say which one a proxy in front has looked at.
  var soleAuthorization: String? { get }
  /// Shows the bytes of ``soleAuthorization``, where there is one, without making a text of them: looked at in every call that has a
  /// session, and half a kilobyte long. They are there as long as `body` runs.
  func withSoleAuthorization(_ body: (UnsafeRawBufferPointer) -> Void)
  /// The caller's `x-request-id` as it was sent: asked for every line of the access log, and mostly nil.
  var requestIDText: String? { get }
  /// When the caller stops waiting, or nil.
  var deadline: Deadline? { get }
  /// The other end of the connection.
  var peer: Peer { get }
  /// Headers to send before the first message.
  var initialMetadata: Metadata { get set }
  /// Trailers to send with the status.
  var trailingMetadata: Metadata { get set }
  /// What interceptors have found out about the call.
  var values: CallValues { get }
  /// Changes ``values`` in one step, whoever changes them beside it. `body` asks the call for nothing.
  func updateValues(_ body: (inout CallValues) -> Void)
  /// Whether the request message read last came compressed.
  var requestWasCompressed: Bool { get }
  /// How response messages are compressed from here on, where the caller accepts it. May be changed before each message;
  /// headers name it with the first one, so a call that may compress later says so before that.
  var responseCompression: MessageCompression { get set }
  /// Bytes received and sent so far, as messages on the wire.
  var traffic: CallTraffic { get }
  /// The protocol that the call came in: `grpc`, `grpc-web` or `connect`.
  var protocolName: String { get }
  /// What followed the question mark in the path of a call that was made by GET, as it was sent; nil for all others.
  var query: String? { get }

  /// The one request of a unary call.
  ///
  /// - Throws: ``RPCError`` with ``StatusCode/internal``, ``StatusCode/unimplemented`` (none, or several) or
  ///   ``StatusCode/resourceExhausted``.
  func unaryRequest<M: Message>(_ type: M.Type) async throws(RPCError) -> M

  /// Suspends until the one request of a unary call is there that began before it was: only calls do whose requests may be large.
  /// One that is waits for its turn before it is let in.
  ///
  /// - Throws: ``RPCError``: it is too large, or nobody waits for the answer any more.
  func awaitRequest() async throws(RPCError)

  /// Says that the request has been worked on and is kept no longer, so that the next large one may come. Happens by itself when the
  /// handler is done.
  func letGoOfRequest()

  /// Hands over the one response of a unary call.
  func unaryResponse<M: Message>(_ message: M) async throws(RPCError)

  /// Sends ``initialMetadata`` now, of a call that streams responses, instead of with the first of them.
  func sendInitialMetadata()

  /// The next request, or nil once the caller has sent its last.
  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M?

  /// Sends a response; suspends while the caller reads more slowly than the handler writes.
  func send<M: Message>(_ message: M) async throws(RPCError)

  // What follows is for the common case, plain protobuf that is at hand or can be sent at once: code that knows the type of the
  // message reads and fills its slots itself, without an async call, which costs the concurrency runtime several times what a
  // small message does. Slots are the loop's: elsewhere there are none.

  /// The slots of the next request, of the only one of a unary call, if it is there and uncompressed protobuf.
  ///
  /// - Returns: What to read at once and before ``finishRequest()``, or nil: ask ``receive(_:)`` or ``unaryRequest(_:)``.
  func requestSlots(_ descriptor: MessageDescriptor) throws(RPCError) -> MessageSlots?

  /// The slots have been read.
  func finishRequest()

  /// Empty slots for the next response.
  ///
  /// - Returns: What to fill and hand to ``sendResponse(_:)`` at once, or nil: use ``send(_:)`` or ``unaryResponse(_:)``.
  func responseSlots(_ descriptor: MessageDescriptor) throws(RPCError) -> SlotWriter?

  /// Sends a response, or hands over the only one of a unary call, whose slots are filled.
  ///
  /// - Returns: Whether there is room for more. If not, ``roomToSend()`` must return before anything else is sent.
  func sendResponse(_ slots: SlotWriter) throws(RPCError) -> Bool

  /// Suspends while the caller reads more slowly than the handler writes.
  func roomToSend() async
}

extension ServerCall {
  /// The value attached under `key`.
  public subscript<Key: CallValueKey>(key: Key.Type) -> Key.Value? {
    @inlinable get { values[key] }
    @inlinable set { updateValues { $0[key] = newValue } }
  }

  /// Looks it up in ``metadata``.
  public func metadataText(_ name: String) -> String? { metadata[name] }
  /// Looks it up in ``metadata``.
  public var soleAuthorization: String? {
    let values = metadata.values(of: "authorization")
    return values.count == 1 ? values[0] : nil
  }
  /// Those of ``soleAuthorization``.
  public func withSoleAuthorization(_ body: (UnsafeRawBufferPointer) -> Void) {
    guard var text = soleAuthorization else { return }
    text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
  }
  /// Looks it up in ``metadata``.
  public var requestIDText: String? { metadataText("x-request-id") }
  /// Leaves them to the first response.
  public func sendInitialMetadata() {}
  /// gRPC.
  public var protocolName: String { "grpc" }
  /// None.
  public var query: String? { nil }
  /// It is there.
  public func awaitRequest() async throws(RPCError) {}
  /// Nothing to let go of.
  public func letGoOfRequest() {}
  /// Never.
  public func requestSlots(_ descriptor: MessageDescriptor) throws(RPCError) -> MessageSlots? { nil }
  /// Nothing to do.
  public func finishRequest() {}
  /// Never.
  public func responseSlots(_ descriptor: MessageDescriptor) throws(RPCError) -> SlotWriter? { nil }
  /// Not without slots.
  public func sendResponse(_ slots: SlotWriter) throws(RPCError) -> Bool { preconditionFailure("nobody gave these slots") }
  /// There is.
  public func roomToSend() async {}
}

/// How many bytes of messages a call has moved.
public struct CallTraffic: Sendable, Hashable {
  /// Bytes of request messages.
  public var received = 0
  /// Bytes of response messages.
  public var sent = 0

  /// Nothing moved yet.
  public init() {}
}
