internal import CNghttp2
package import EventLoop
internal import Glibc

extension HTTP2Connection {
  /// Opens a connection. It can be used once its delegate was told that it is ready; a failure is told as a close.
  ///
  /// - Parameters:
  ///   - address: Where to connect to.
  ///   - tls: How to encrypt, or nil for clear text (prior knowledge).
  ///   - serverName: The name to verify in the server's certificate.
  package static func connect(
    to address: SocketAddress, tls context: TLSContext?, serverName: String?, resources: HTTP2LoopResources,
    delegate: any HTTP2ConnectionDelegate
  ) throws -> HTTP2Connection {
    let engine = try context.map { try TLSEngine($0, serverName: serverName) }
    let descriptor = socket(
      address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw HTTP2Error(.connectFailed, "socket: \(String(cString: strerror(errno)))") }
    if address.port != nil {
      var one: Int32 = 1
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    }
    let result = address.withSockaddr { Glibc.connect(descriptor, $0, $1) }
    guard result == 0 || errno == EINPROGRESS else {
      let message = "\(address): \(String(cString: strerror(errno)))"
      Glibc.close(descriptor)
      throw HTTP2Error(.connectFailed, message)
    }
    let connection = HTTP2Connection(
      .client, descriptor: descriptor, peer: address, tls: engine, resources: resources, delegate: delegate)
    do { try connection.start() } catch {
      Glibc.close(descriptor)
      connection.descriptor = -1
      throw error
    }
    return connection
  }

  /// Opens a stream with a request's headers. With `endsStream` no body follows; otherwise the body is written to the stream's
  /// ``HTTP2Stream/outbound``.
  ///
  /// - Returns: The stream, or nil when the connection takes no new ones.
  package func request(_ headers: HeaderList, endsStream: Bool, handler: any HTTP2StreamHandler) -> HTTP2Stream? {
    loop.assertInLoop()
    guard !isClosed, !isDraining, session != nil, nghttp2_session_check_request_allowed(session) != 0 else { return nil }
    let stream = resources.takeStream(for: self)
    stream.open(id: 0, on: self)
    let user = Unmanaged.passUnretained(stream).toOpaque()
    var provider = SessionCallbacks.dataProvider(stream)
    let id =
      endsStream
      ? nghttp2_submit_request(session, nil, headers.fields, headers.count, nil, user)
      : nghttp2_submit_request(session, nil, headers.fields, headers.count, &provider, user)
    guard id > 0 else {
      stream.isClosed = true
      resources.giveBack(stream)
      return nil
    }
    stream.id = id
    stream.handler = handler
    stream.markRequestSubmitted(endsStream: endsStream)
    add(stream)
    resources.statistics.streamsOpened &+= 1
    scheduleFlush()
    return stream
  }

  /// How many more streams the peer takes at this moment.
  package var roomForStreams: Int {
    guard let session else { return 0 }
    return Int(nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)) - streams.count
  }
}
