internal import Buffers
internal import EventLoop
internal import HTTP2
internal import RPC

/// One plain HTTP request on one HTTP/2 stream. The handler runs once the request is whole, or where its route says so, as soon as its
/// headers are there. Whatever the handler asks for from elsewhere is done on the loop.
// SAFETY: all state is used on its loop only: the handler's task prefers it, and what others may call goes there first.
final class HTTPServerCall: HTTP2StreamHandler, HTTPBodySink, @unchecked Sendable {
  private let server: ServerLoop
  private let handler: HTTPRoute.Handler
  /// Whose path stands for it in logs; nil for what has no path of its own.
  private let route: RouteEntry?
  private var stream: HTTP2Stream?
  private var task: Task<Void, Never>?
  private var home: HTTP2Connection?
  private var client: ClientAccount?
  private var isRunning = false
  private var isAnswered = false
  /// Its turn among the large requests, while it has one.
  private var turn: LargeRequests.Turn?
  private var bodyWaiters: [UnsafeContinuation<Void, Never>] = []
  /// What is being streamed: how the response begins, and how many bytes of it were written.
  private var outgoing: (head: HTTPServerResponse, body: HTTPBodyStream, hasHead: Bool, written: Int)?
  private var bodyWriters: [UnsafeContinuation<Void, Never>] = []
  /// What ends the wait for a large body: for its turn, and then for its bytes.
  private var patience: LoopTimer?

  init(on server: ServerLoop, _ handler: @escaping HTTPRoute.Handler, _ route: RouteEntry?) {
    self.server = server
    self.handler = handler
    self.route = route
  }

  func open(_ stream: HTTP2Stream) { self.stream = stream }

  func streamReceivedHeaders(_ stream: HTTP2Stream) {}

  /// The route does without the body for now.
  func begin(_ stream: HTTP2Stream) {
    if beginsAtHeaders { start(stream) }
  }

  private var beginsAtHeaders: Bool { route?.http?.beginsAtHeaders ?? false }

  func streamReceivedData(_ stream: HTTP2Stream) {
    guard !isAnswered else { return stream.consume(stream.inbound.count) }
    if stream.inbound.count > maximumBodyBytes {
      refuse(.bodyTooLarge, stream)
      stream.consume(stream.inbound.count)
      stopHandler()
    } else if beginsAtHeaders {
      wakeBodyWaiters()
    } else {
      stream.openWindow(toHold: expectedBytes(stream))
    }
  }

  private var maximumBodyBytes: Int { route?.http?.maximumBodyBytes ?? server.configuration.maximumHTTPBodyBytes }

  /// What the body may come to: what its length says, or the most that it may have.
  private func expectedBytes(_ stream: HTTP2Stream) -> Int {
    let limit = maximumBodyBytes
    return stream.headers.text(named: "content-length").flatMap(Int.init).map { min($0, limit) } ?? limit
  }

  func streamReceivedEnd(_ stream: HTTP2Stream) {
    guard !isAnswered else { return }
    guard !beginsAtHeaders else { return wakeBodyWaiters() }
    start(stream)
  }

  private func start(_ stream: HTTP2Stream) {
    guard server.hasRoom(on: stream), server.runningHandlers.take(1) else { return shed(.runningHandlers, stream) }
    let request = request(stream)
    isRunning = true
    server.running.began(route.map(RunningHandlers.name) ?? RunningHandlers.name(server.otherRoute))
    let task = Task.immediate(executorPreference: server.loop) { await self.run(request) }
    guard isRunning else { return server.running.finished() }
    self.task = task
    server.running.suspended(task)
    home = stream.isClosed ? nil : stream.connection
    home?.runningHandlers += 1
    client = stream.isClosed ? nil : stream.client
    client?.runningHandlers += 1
  }

  // MARK: A body that is asked for

  /// The body, when all of it is there. A large one waits for its turn, as soon as enough of it has come to show that it does come.
  func wholeBody(of owner: String?) async throws -> [UInt8] {
    while true {
      guard server.loop.isCurrent else { return try await server.loop.visit { try await self.wholeBody(of: owner) } }
      guard let stream, !isAnswered else { throw CancellationError() }
      let (expected, count) = (expectedBody(stream), stream.inbound.count)
      let isLarge = expected > server.configuration.maximumRequestBytes
      if isLarge, patience == nil { wait(atMost: server.configuration.maximumCallDuration ?? .seconds(60)) }
      if isLarge, turn == nil, count >= min(expected, stream.unaskedBytes), let room = route?.room {
        guard let turn = await room.enter(expected, of: owner) else { throw CancellationError() }
        self.turn = turn
        let rate = max(1, server.configuration.largeBodyBytesPerSecond)
        wait(atMost: server.configuration.largeBodyGrace + .seconds(expected / rate))
      } else if stream.isRemoteClosed {
        let body = [UInt8](stream.inbound.bytes)
        stream.dropInbound()
        if let patience { server.loop.disarm(patience) }
        return body
      } else {
        if !isLarge || turn != nil { stream.openWindow(toHold: expected) }
        await withUnsafeContinuation { bodyWaiters.append($0) }
      }
    }
  }

  /// What the body comes to, as far as it is known. One without a length is taken for one that is not large until it is.
  private func expectedBody(_ stream: HTTP2Stream) -> Int {
    let (count, usual) = (stream.inbound.count, server.configuration.maximumRequestBytes)
    if stream.isRemoteClosed { return count }
    let hasLength = stream.headers.text(named: "content-length") != nil
    return hasLength || turn != nil || count >= usual ? expectedBytes(stream) : min(usual, maximumBodyBytes)
  }

  private func wait(atMost limit: Duration) {
    let timer = patience ?? LoopTimer { [unowned self] in ranOut() }
    patience = timer
    server.loop.arm(timer, after: limit)
  }

  private func ranOut() {
    guard let stream, !stream.isRemoteClosed, !isAnswered else { return }
    if turn != nil || stream.inbound.count < stream.unaskedBytes {
      refuse(.bodyTooSlow, stream)
    } else {
      shed(.requestBytes, stream)
    }
    stream.consume(stream.inbound.count)
    stopHandler()
  }

  func letGoOfBody() {
    guard server.loop.isCurrent else {
      // A loop that has ended holds no bytes.
      server.loop.execute { self.letGoOfBody() }
      return
    }
    if let patience { server.loop.disarm(patience) }
    guard let turn else { return }
    route?.room?.leave(turn)
    self.turn = nil
  }

  private func wakeBodyWaiters() {
    for waiter in bodyWaiters { waiter.resume() }
    bodyWaiters.removeAll()
  }

  func streamDrained(_ stream: HTTP2Stream) { wakeBodyWriters() }

  func streamOverBudget(_ stream: HTTP2Stream) {
    guard !isAnswered else { return }
    shed(.requestBytes, stream)
    stream.consume(stream.inbound.count)
    stopHandler()
  }

  /// The request has its answer: what its handler still does is of no use.
  private func stopHandler() {
    task?.cancel()
    wakeBodyWaiters()
    wakeBodyWriters()
  }

  private func shed(_ reason: ShedReason, _ stream: HTTP2Stream) {
    server.events.callShed(reason)
    refuse(.overloaded, stream)
  }

  func streamClosed(_ stream: HTTP2Stream, _ error: HTTP2ErrorCode) {
    self.stream = nil
    isAnswered = true
    stopHandler()
  }

  private func refuse(_ refusal: HTTPRefusal, _ stream: HTTP2Stream) {
    guard !isAnswered else { return }
    let path = (stream.headers.text(.path) ?? "/").prefix { $0 != "?" }
    server.events.httpRefused(refusal, stream.headers.text(.method) ?? "GET", String(path), ConnectionPeer.of(stream.connection))
    answer(refusal.response(route?.http, to: stream.headers.text(.origin), server.configuration.cors), toHead: false)
  }

  private func request(_ stream: HTTP2Stream) -> HTTPServerRequest {
    let target = stream.headers.text(.path) ?? "/"
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var headers: [(name: String, value: String)] = []
    stream.headers.forEach { name, value, _ in
      headers.append((String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
    }
    var request = HTTPServerRequest(
      method: stream.headers.text(.method) ?? "GET", authority: stream.headers.text(.authority) ?? "", path: String(parts[0]),
      query: parts.count > 1 ? String(parts[1]) : "", headers: headers,
      body: beginsAtHeaders ? [] : [UInt8](stream.inbound.bytes), peer: ConnectionPeer.of(stream.connection))
    if beginsAtHeaders { request.source = self }
    return request
  }

  private func run(_ request: HTTPServerRequest) async {
    var response: HTTPServerResponse
    do { response = try await handler(request) } catch { response = failure(error, request) }
    if let body = response.bodyStream, request.method != "HEAD", !isAnswered, stream != nil {
      await send(body, response, to: request)
      return ended()
    }
    ended()
    if let stream, !isAnswered, !response.body.isEmpty, !stream.hasRoom { return shed(.responseBytes, stream) }
    answer(response, toHead: request.method == "HEAD")
  }

  /// The handler is done.
  private func ended() {
    server.runningHandlers.giveBack(1)
    isRunning = false
    if let task { server.running.ended(task) }
    task = nil
    home?.runningHandlers -= 1
    home = nil
    client?.runningHandlers -= 1
    client = nil
  }

  private func failure(_ error: any Error, _ request: HTTPServerRequest) -> HTTPServerResponse {
    let incident = IncidentID.make()
    if !(error is CancellationError) { server.events.unexpectedHTTPError(request.path, error, incident) }
    return .text(500, "internal error, incident \(incident)\n")
  }

  private func answer(_ response: HTTPServerResponse, toHead: Bool) {
    guard let stream, !isAnswered else { return }
    isAnswered = true
    // Whoever still waits for the request's body has outlived its handler.
    wakeBodyWaiters()
    guard !response.resetsStream else { return stream.reset(.internalError) }
    let hasBody = !response.body.isEmpty && !toHead
    stream.respond(Self.head(of: response), endsStream: !hasBody)
    if hasBody {
      stream.outbound.append(contentsOf: response.body)
      stream.finish()
    }
  }

  private static func head(of response: HTTPServerResponse) -> HeaderList {
    let list = HeaderList(capacity: 2 + response.headers.count)
    list.append(":status", "\(response.status)")
    for (name, value) in response.headers { list.append(name, value) }
    let count = response.bodyStream.map(\.byteCount) ?? response.body.count
    if response.status != 204, let count { list.append("content-length", "\(count)") }
    return list
  }

  // MARK: A body that is streamed

  private func send(_ body: HTTPBodyStream, _ head: HTTPServerResponse, to request: HTTPServerRequest) async {
    outgoing = (head, body, false, 0)
    do {
      try await body.write(HTTPBodyWriter(self))
      guard let stream, let outgoing else { return }
      if let announced = body.byteCount, announced != outgoing.written {
        throw HTTPBodyError(announced: announced, written: outgoing.written)
      }
      if !outgoing.hasHead { sendHead(stream) }
      stream.finish()
      self.outgoing = nil
    } catch {
      guard let outgoing else { return }
      self.outgoing = nil
      guard stream != nil else { return }
      let answer = failure(error, request)
      // What has begun to leave cannot be taken back, and must not be taken for whole.
      if outgoing.hasHead { stream?.reset(.internalError) } else { self.answer(answer, toHead: false) }
    }
  }

  private func sendHead(_ stream: HTTP2Stream) {
    guard let head = outgoing?.head else { return }
    outgoing?.hasHead = true
    isAnswered = true
    wakeBodyWaiters()
    stream.respond(Self.head(of: head), endsStream: false)
  }

  func write(_ bytes: [UInt8]) async throws {
    var offset = 0
    while offset < bytes.count {
      guard server.loop.isCurrent else {
        let rest = offset == 0 ? bytes : Array(bytes[offset...])
        return try await server.loop.visit { try await self.write(rest) }
      }
      guard let stream, let outgoing, outgoing.hasHead || !isAnswered else { throw CancellationError() }
      if let announced = outgoing.body.byteCount, outgoing.written + bytes.count - offset > announced {
        throw HTTPBodyError(announced: announced, written: outgoing.written + bytes.count - offset)
      }
      let limit = max(1, server.configuration.http2.streamOutputBytes)
      let count = min(limit - stream.outbound.count, bytes.count - offset)
      if !stream.hasRoom {
        stream.notifyWhenRoom()
        await withUnsafeContinuation { bodyWriters.append($0) }
      } else if count <= 0 {
        // Woken while there still is something to send, so that the stream does not run dry.
        stream.notifyWhenDrained(to: limit / 2)
        await withUnsafeContinuation { bodyWriters.append($0) }
      } else {
        if !outgoing.hasHead { sendHead(stream) }
        stream.outbound.append(contentsOf: bytes[offset..<(offset + count)])
        stream.outboundGrew()
        offset += count
        self.outgoing?.written += count
      }
    }
  }

  private func wakeBodyWriters() {
    for writer in bodyWriters { writer.resume() }
    bodyWriters.removeAll()
  }
}
