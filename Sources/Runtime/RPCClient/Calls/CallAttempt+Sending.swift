internal import Buffers
internal import Compression
internal import ConnectWire
internal import HTTP2
internal import MessagesCore
internal import RPC
internal import RPCWire

extension CallAttempt {
  /// Adds a request to what is to be sent.
  ///
  /// - Throws: The status of a call that has ended, or an error of the message itself; the call goes on after that.
  func add<M: Message>(_ message: M, compressed: Bool) throws(RPCError) {
    try add(compressed: compressed) { (buffer) throws(RPCError) in try part.coding.add(message, plan.codec, to: buffer) }
  }

  /// Adds a request that is encoded already.
  func add(payload: [UInt8], compressed: Bool) throws(RPCError) {
    try add(compressed: compressed) { (buffer) throws(RPCError) in buffer.append(contentsOf: payload) }
  }

  /// Says that no request follows.
  func finishSending() throws(RPCError) {
    guard !isSendingFinished else { return }
    // The one request of a body without frames has ended it already, unless there was none.
    if let connection = reserved { return try submit(on: connection, ByteBuffer(), .identity) }
    isSendingFinished = true
    if let error = outcome?.error { throw error }
    stream?.finish()
  }

  /// Waits until the server has taken most of what was added.
  ///
  /// - Throws: The status of a call that ends before the server has taken all of it.
  func waitForRoom() async throws(RPCError) {
    while outcome == nil, let stream, stream.outbound.count > part.configuration.http2.streamOutputBytes {
      stream.notifyWhenDrained(to: part.configuration.http2.streamOutputBytes / 2)
      await withUnsafeContinuation { writers.append($0) }
    }
    if outcome != nil, !hasSentAll { throw ended }
  }

  /// What a caller is told that sends on a call which has ended.
  private var ended: RPCError { outcome?.error ?? RPCError(.cancelled, "the server has ended the call", cause: CallHasEnded()) }

  private func add(compressed: Bool, _ encode: (ByteBuffer) throws(RPCError) -> Void) throws(RPCError) {
    guard outcome == nil else { throw ended }
    let limit = plan.maximumRequestBytes ?? .max
    func encodeWithinLimit(_ buffer: ByteBuffer) throws(RPCError) {
      let start = buffer.count
      try encode(buffer)
      if buffer.count - start > limit { throw .messageTooLarge(buffer.count - start, limit: limit) }
    }
    guard !isSendingFinished else { throw RPCError(.internal, "a request after the last one") }
    let compression = compressed ? plan.compression : .identity
    if let connection = reserved {
      let body = ByteBuffer()
      try encodeWithinLimit(body)
      return try submit(on: connection, body, compression)
    }
    guard let stream else { throw ended }
    let output = stream.outbound
    let start = output.count
    let prefix = output.reserve(Envelope.prefixBytes).assumingMemoryBound(to: UInt8.self)
    for index in 0..<Envelope.prefixBytes { prefix[index] = compression == .identity || index > 0 ? 0 : 1 }
    output.commit(Envelope.prefixBytes)
    do throws(RPCError) {
      if compression == .identity {
        try encodeWithinLimit(output)
      } else {
        try part.coding.compressing(compression, into: output, encodeWithinLimit)
      }
    } catch {
      output.truncate(to: start)
      throw error
    }
    output.overwrite(bigEndian: UInt32(output.count - start - Envelope.prefixBytes), at: start + 1)
    sentBytes += output.count - start - Envelope.prefixBytes
    replay?.append(UnsafeRawBufferPointer(rebasing: output.bytes[start...]))
    stream.outboundGrew()
  }

  /// Sends again what an earlier attempt has sent.
  func send(_ replay: ReplayBuffer) {
    guard let stream, !replay.bytes.isEmpty else { return }
    stream.outbound.append(replay.bytes)
    sentBytes += replay.bytes.count
    stream.outboundGrew()
  }
}
