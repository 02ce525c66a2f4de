public import MessagesCore

/// One call as the client's transport presents it: the counterpart of ``ServerCall``. Callers see it through ``ClientStream``.
///
/// May be used from any task, by one sender and one receiver at a time.
public protocol ClientCall: AnyObject, Sendable {
  /// Sends a request; suspends while the server reads more slowly than the caller writes. Where the call has a compression,
  /// `compressed` says whether it is used for this message.
  ///
  /// - Throws: ``RPCError`` once the call has ended: its status, or ``StatusCode/cancelled`` when that was OK.
  func send<M: Message>(_ message: M, compressed: Bool) async throws(RPCError)

  /// Says that no request follows.
  func finishSending() async throws(RPCError)

  /// The next response, or nil after the last of a call that succeeded.
  ///
  /// - Throws: ``RPCError``: the status of a call that failed.
  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M?

  /// The headers of the response, as soon as they have come.
  func initialMetadata() async throws(RPCError) -> Metadata

  /// The trailers; empty until the call has ended. Those of a call that failed are in its error as well.
  func trailingMetadata() async -> Metadata

  /// Whether the last response received came compressed.
  func responseWasCompressed() async -> Bool

  /// Gives the call up; both sides learn it.
  func cancel()
}

/// One call whose messages are bytes in the encoding of its channel.
package protocol PayloadCall: AnyObject, Sendable {
  /// Sends a request that is encoded already.
  func send(payload: [UInt8]) async throws(RPCError)
  /// Says that no request follows.
  func finishSending() async throws(RPCError)
  /// The next response as it came, restored; nil after the last of a call that succeeded.
  func receivePayload() async throws(RPCError) -> [UInt8]?
  /// The headers of the response, as soon as they have come.
  func initialMetadata() async throws(RPCError) -> Metadata
  /// The trailers; empty until the call has ended.
  func trailingMetadata() async -> Metadata
}
