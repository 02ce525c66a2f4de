internal import Buffers
internal import ConnectWire
internal import EventLoop
internal import HTTP2
internal import MessagesCore
internal import MessagesWire
internal import RPC
internal import RPCWire
internal import Synchronization

/// Messages in and out, one at a time. Protobuf without compression is the hot path; everything else goes by way of
/// ``MessageCoding``.
extension RPCServerCall {
  var responseCompression: MessageCompression {
    get { known { $0.compression }.flatMap { $0 } ?? server.configuration.responseCompression }
    set {
      change { $0.compression = newValue }
      choose(newValue)
    }
  }

  /// From elsewhere, the choice is on the loop before whatever its caller writes after it.
  private func choose(_ compression: MessageCompression) {
    guard isHome else {
      server.loop.execute { self.choose(compression) }
      return
    }
    form.choose(compression, hasSentHeaders: hasSentHeaders)
  }

  // MARK: Unary calls

  func unaryRequest<M: Message>(_ type: M.Type) async throws(RPCError) -> M {
    guard isHome else {
      return try await server.loop.visit { () async throws(RPCError) in try await self.unaryRequest(type) }
    }
    guard let stream else { throw RPCError(.cancelled, "the caller is gone") }
    defer { if beginsAtHeaders { stream.dropInbound() } }
    guard form.wire != .connectUnary else { return try bareRequest(stream) }
    let bytes = stream.inbound.bytes
    switch Envelope.parse(bytes, maximumBytes: maximumRequestBytes) {
    case .complete(let envelope):
      guard envelope.end == bytes.count else { throw RPCError(.unimplemented, "the call has more than one request message") }
      return try decode(envelope, bytes)
    case .empty: throw RPCError(.unimplemented, "the call ended without a request message")
    case .incomplete: throw RPCError(.internal, "the request message is cut off")
    case .tooLarge(let size): throw tooLarge(size)
    }
  }

  func unaryResponse<M: Message>(_ message: M) async throws(RPCError) {
    guard isHome else {
      return try await server.loop.visit { () async throws(RPCError) in try await self.unaryResponse(message) }
    }
    guard let stream, !isAnswered else { return }
    precondition(!hasResponse, "a unary call has one response")
    guard stream.hasRoom else {
      server.events.callShed(.responseBytes)
      throw .overloaded
    }
    try encode(message, stream)
    hasResponse = true
  }

  /// The request of a unary Connect call: the body, or the message in the query.
  private func bareRequest<M: Message>(_ stream: HTTP2Stream) throws(RPCError) -> M {
    guard let getCall else { return try bareRequest(stream.inbound.bytes) }
    // A result instead of a throw: the closure's errors would have no type.
    return try getCall.message.withUnsafeBytes { bytes in Result { () throws(RPCError) in try bareRequest(bytes) as M } }.get()
  }

  private func bareRequest<M: Message>(_ bytes: UnsafeRawBufferPointer) throws(RPCError) -> M {
    received(bytes.count)
    requestWasCompressed = form.requestCompression != .identity && !bytes.isEmpty
    return try server.coding.decode(
      M.self, bytes, form, isCompressed: requestWasCompressed, maximumBytes: maximumRequestBytes)
  }

  // MARK: Reading

  func decode<M: Message>(_ envelope: Envelope, _ bytes: UnsafeRawBufferPointer) throws(RPCError) -> M {
    let content = UnsafeRawBufferPointer(rebasing: bytes[Envelope.prefixBytes..<envelope.end])
    received(envelope.count)
    guard envelope.flags == 0, form.codec == .proto else { return try decode(envelope.flags, content) }
    requestWasCompressed = false
    do {
      return try server.decoder.decode(M.self, from: content)
    } catch {
      throw .undecodable(error)
    }
  }

  private func decode<M: Message>(_ flags: UInt8, _ content: UnsafeRawBufferPointer) throws(RPCError) -> M {
    guard flags & ~Envelope.compressed == 0 else {
      throw RPCError(form.wire.isConnect ? .invalidArgument : .internal, "a message has the unknown flags \(flags)")
    }
    requestWasCompressed = flags != 0
    guard !requestWasCompressed || form.requestCompression != .identity else {
      throw RPCError(.internal, "a message is compressed, but no \(form.wire.encodingHeader) was named")
    }
    return try server.coding.decode(
      M.self, content, form, isCompressed: requestWasCompressed, maximumBytes: maximumRequestBytes)
  }

  // MARK: Writing

  func encode<M: Message>(_ message: M, _ stream: HTTP2Stream) throws(RPCError) {
    guard form.hasPlainResponses, form.wire != .connectUnary else { return try encodeOther(message, stream) }
    let slots: SlotWriter
    do {
      slots = try server.encoder.begin(M.descriptor)
    } catch {
      throw .unencodable(error)
    }
    message.fill(slots)
    try withExtendedLifetime(message) { () throws(RPCError) in try pack(slots, stream) }
  }

  /// Appends the message in these slots to what the stream has to send.
  @inline(__always)
  func pack(_ slots: SlotWriter, _ stream: HTTP2Stream) throws(RPCError) {
    let output = stream.outbound
    do {
      // One byte of flags, uncompressed, and room for the length.
      let count = try server.borrowedEncoder._withUnsafeGuaranteedRef { encoder in
        Result { () throws(EncodeError) in try encoder.pack(slots, into: output, behind: Envelope.prefixBytes) }
      }.get()
      output.overwrite(bigEndian: UInt32(truncatingIfNeeded: count), at: output.count - count - 4)
      sent(count)
    } catch {
      throw .unencodable(error)
    }
  }

  private func encodeOther<M: Message>(_ message: M, _ stream: HTTP2Stream) throws(RPCError) {
    negotiate(stream)
    let output = stream.outbound
    let start = output.count
    let isEnveloped = form.wire != .connectUnary
    if isEnveloped { output.append(contentsOf: Envelope.prefix(flags: 0, count: 0)) }
    let content = output.count
    do {
      let isCompressed = try server.coding.encode(
        message, form.codec, form.chosen == form.announced ? form.chosen : .identity,
        minimumBytes: form.isChosenByHandler ? 0 : server.configuration.minimumCompressedBytes, into: output)
      sent(output.count - content)
      if isEnveloped {
        output.overwrite(bigEndian: UInt32(output.count - content), at: start + 1)
        if isCompressed { output.overwrite(Envelope.compressed, at: start) }
      } else if !isCompressed {
        // The one message of the response is plain, so its headers say so.
        form.announced = .identity
      }
    } catch {
      output.truncate(to: start)
      throw .unencodable(error)
    }
  }

  /// Settles what the headers name, once, before they are sent.
  func negotiate(_ stream: HTTP2Stream) {
    guard !form.hasNegotiated, !hasSentHeaders else { return }
    form.hasNegotiated = true
    guard form.offered != .identity else { return }
    if acceptedCompressions(stream.headers).accepts(form.offered) { form.announced = form.offered }
  }
}
