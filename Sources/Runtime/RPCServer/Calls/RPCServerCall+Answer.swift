internal import Buffers
internal import ConnectWire
internal import HTTP2
internal import JSON
internal import RPC
internal import RPCWire
internal import Synchronization

/// The response's headers, and how the call's end is told in each protocol.
extension RPCServerCall {
  func refuse(_ error: RPCError, httpStatus: Int? = nil) {
    stopClock()
    if !hasBegun { noteRefusal(error) }
    fail(error, httpStatus: httpStatus)
    // The rest of a refused request is of no interest, and must not fill the window.
    discardInput()
  }

  /// The call has a status that no handler has anything to do with.
  func noteRefusal(_ error: RPCError) { server.refusals?.callRefused(self, since: begun, error) }

  /// Refuses the call because there is too much of something; its caller is told when to come again.
  func shed(_ reason: ShedReason) {
    server.events.callShed(reason)
    refuse(.overloaded)
  }

  /// The server drains. A call that goes on for as long as the server does would hold it up.
  func serverDrains() {
    guard let route, route.endsWithServer, !isAnswered else { return }
    refuse(.stopping)
    stopHandler()
  }

  func sendHeaders(_ stream: HTTP2Stream) {
    guard !hasSentHeaders else { return }
    hasSentHeaders = true
    let initialMetadata = initialMetadata
    guard !form.hasPlainHead || !initialMetadata.isEmpty else {
      return stream.respond(HeaderLists.grpcResponse, endsStream: false)
    }
    let list = ServerHeaders.response(form.wire, form.codec, encoding: form.announced, initialMetadata)
    respond(stream, list, initialMetadata, endsStream: false)
  }

  /// Sends headers with what a page of another origin needs to read them.
  private func respond(_ stream: HTTP2Stream, _ list: HeaderList, _ metadata: Metadata, endsStream: Bool) {
    if form.isCrossOrigin, let cors = server.configuration.cors {
      for (name, value) in cors.answerFields(for: stream.headers.text(.origin), metadata.entries.lazy.map(\.name)) {
        list.append(name, value)
      }
    }
    stream.respond(list, endsStream: endsStream)
  }

  // MARK: Success

  func succeed() {
    // What nearly all calls are, without what the others need.
    if form.hasPlainHead, !hasShared.load(ordering: .acquiring) { return succeedPlainly() }
    let (initialMetadata, trailingMetadata) = known { ($0.initialMetadata, $0.trailingMetadata) } ?? (Metadata(), Metadata())
    if !initialMetadata.isEmpty || !trailingMetadata.isEmpty,
      let problem = hasSentHeaders ? trailingMetadata.unsendable : initialMetadata.unsendable ?? trailingMetadata.unsendable
    {
      return fail(rpcError(problem), isKnown: true)
    }
    isAnswered = true
    guard let stream else { return }
    let okTrailers = trailingMetadata.isEmpty ? HeaderLists.grpcOK : GRPCHeaders.trailers(ok: trailingMetadata)
    switch form.wire {
    case .grpc:
      sendHeaders(stream)
      stream.finish(trailers: okTrailers)
    case .grpcWeb:
      sendHeaders(stream)
      GRPCWebTrailers.append(okTrailers, to: stream.outbound)
      stream.finish()
    case .connectStream:
      sendHeaders(stream)
      finish(stream, ConnectEndOfStream(metadata: trailingMetadata))
    case .connectUnary:
      hasSentHeaders = true
      let list = ServerHeaders.connectUnary(
        form.codec, encoding: form.announced, bodyBytes: stream.outbound.count, initialMetadata, trailing: trailingMetadata)
      respond(stream, list, connectMetadata(trailingMetadata), endsStream: stream.outbound.isEmpty)
      stream.finish()
    }
  }

  /// A call of plain gRPC whose handler has set nothing.
  private func succeedPlainly() {
    isAnswered = true
    guard let borrowedStream else { return }
    borrowedStream._withUnsafeGuaranteedRef { stream in
      if !hasSentHeaders {
        hasSentHeaders = true
        stream.respond(HeaderLists.grpcResponse, endsStream: false)
      }
      stream.finish(trailers: HeaderLists.grpcOK)
    }
  }

  // MARK: Failure

  /// Ends the call with an error. `httpStatus` replaces the one that unary Connect calls give to its code; `isKnown` says that the log
  /// knows already of metadata that may not be sent.
  func fail(_ error: RPCError, httpStatus: Int? = nil, isKnown: Bool = false) {
    isAnswered = true
    guard let stream else { return }
    var trailing = trailingMetadata
    trailing.append(contentsOf: error.metadata)
    // The error stands; what it cannot take along is left out.
    if !isKnown, let problem = trailing.unsendable {
      server.events.unexpectedError(CallContext(self), problem, IncidentID.make())
    }
    if !hasSentHeaders { stream.outbound.reset() }
    switch form.wire {
    case .grpc, .grpcWeb:
      let trailers = GRPCHeaders.trailers(error, trailing)
      // A handler's headers are headers; in one block with the status they would be taken for trailers.
      if hasBegun, !initialMetadata.isEmpty { sendHeaders(stream) }
      if !hasSentHeaders {
        let list = ServerHeaders.trailersOnly(form.wire, form.codec, initialMetadata, trailers)
        trailing.append(contentsOf: initialMetadata)
        respond(stream, list, trailing, endsStream: true)
      } else if form.wire == .grpc {
        stream.finish(trailers: trailers)
      } else {
        GRPCWebTrailers.append(trailers, to: stream.outbound)
        stream.finish()
      }
    case .connectStream:
      sendHeaders(stream)
      finish(stream, ConnectEndOfStream(error: error, metadata: trailing))
    case .connectUnary:
      hasSentHeaders = true
      var body = JSONWriter()
      ConnectError.write(error, details: StatusDetails.connectDetails(error), to: &body)
      let list = ServerHeaders.connectError(
        httpStatus ?? ConnectCode.httpStatus(error.code), bodyBytes: body.bytes.count, initialMetadata, trailing: trailing)
      respond(stream, list, connectMetadata(trailing), endsStream: false)
      stream.outbound.append(contentsOf: body.bytes)
      stream.finish()
    }
  }

  private func finish(_ stream: HTTP2Stream, _ end: ConnectEndOfStream) {
    let json = end.json(details: end.error.map(StatusDetails.connectDetails) ?? [])
    stream.outbound.append(contentsOf: Envelope.prefix(flags: Envelope.endOfStream, count: json.count))
    stream.outbound.append(contentsOf: json)
    stream.finish()
  }

  /// The names under which a unary Connect response carries metadata, for pages that want to read it.
  private func connectMetadata(_ trailing: Metadata) -> Metadata {
    guard form.isCrossOrigin else { return Metadata() }
    var names = initialMetadata
    for entry in trailing.entries {
      names.append(.init(name: ConnectHeaders.trailerPrefix + entry.name, value: entry.value))
    }
    return names
  }
}
