internal import ConnectWire
internal import EventLoop
internal import HTTP2
internal import RPC
internal import RPCWire

/// What the headers and the query of a request say of the call.
extension RPCServerCall {
  func readHeaders(_ headers: HeaderBlock) -> RPCError? {
    switch form.wire {
    case .grpc, .grpcWeb:
      if let encoding = headers.value(.encoding), !encoding.elementsEqual("identity".utf8) {
        if let problem = readEncoding(encoding) { return problem }
      }
      guard let text = headers.value(.timeout) else { break }
      guard let nanoseconds = Timeout.decodeNanoseconds(text) else {
        return RPCError(.invalidArgument, "grpc-timeout is malformed")
      }
      bound(nanoseconds)
      return nil
    case .connectUnary, .connectStream:
      if let problem = readConnectHeaders(headers) { return problem }
      guard let text = headers.text(named: ConnectHeaders.timeout) else { break }
      guard let duration = ConnectHeaders.decodeTimeout(text) else {
        return RPCError(.invalidArgument, "\(ConnectHeaders.timeout) is malformed")
      }
      bound(duration.saturatingNanoseconds)
      return nil
    }
    if server.longestCall < .max, method.kind == .unary { bound(server.longestCall) }
    return nil
  }

  private func bound(_ nanoseconds: Int64) {
    let time = min(nanoseconds, server.longestCall)
    let deadline = Deadline.after(nanoseconds: time)
    self.deadline = deadline
    stream?.expires(at: deadline.monotonicNanoseconds, after: UInt64(clamping: time))
  }

  private func readConnectHeaders(_ headers: HeaderBlock) -> RPCError? {
    if let version = headers.text(named: ConnectHeaders.protocolVersion), version != ConnectHeaders.version {
      return RPCError(.invalidArgument, "\(ConnectHeaders.protocolVersion) must be \(ConnectHeaders.version)")
    }
    guard let encoding = headers.text(named: form.wire.encodingHeader), !encoding.isEmpty else { return nil }
    return readEncoding(encoding.utf8)
  }

  private func readEncoding(_ name: some Collection<UInt8>) -> RPCError? {
    guard let compression = MessageCompression(named: name) else {
      return unsupported(.unsupportedEncoding(String(decoding: name, as: UTF8.self)))
    }
    form.requestCompression = compression
    return nil
  }

  /// The answer names what is spoken here, in the protocol's own header.
  private func unsupported(_ error: RPCError) -> RPCError {
    initialMetadata.append(.init(name: form.wire.acceptEncodingHeader, value: .text(AcceptedCompressions.supported)))
    return error
  }

  func readQuery(_ request: ConnectGetRequest) -> RPCError? {
    do throws(RPCError) {
      form.requestCompression = try request.compression()
      getCall = (request.query, try request.message())
      return nil
    } catch {
      return error.code == .unimplemented ? unsupported(error) : error
    }
  }

  /// What the caller can read. Who names nothing reads at least what it wrote itself.
  func acceptedCompressions(_ headers: HeaderBlock) -> AcceptedCompressions {
    if let list = headers.text(named: form.wire.acceptEncodingHeader) { return AcceptedCompressions(list: list.utf8) }
    switch form.requestCompression {
    case .identity: return []
    case .gzip: return .gzip
    case .deflate: return .deflate
    }
  }
}
