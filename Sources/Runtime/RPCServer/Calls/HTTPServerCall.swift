internal import Buffers
internal import EventLoop
internal import HTTP2
internal import RPC

/// One plain HTTP request on one HTTP/2 stream. The handler runs once the request is whole.
// SAFETY: used on its loop only; the handler's task prefers it.
final class HTTPServerCall: HTTP2StreamHandler, @unchecked Sendable {
  private let server: ServerLoop
  private let handler: HTTPRoute.Handler
  /// Whose path stands for it in logs; nil for what has no path of its own.
  private let route: RouteEntry?
  private var stream: HTTP2Stream?
  private var task: Task<Void, Never>?
  private var home: HTTP2Connection?
  private var isRunning = false
  private var isAnswered = false

  init(on server: ServerLoop, _ handler: @escaping HTTPRoute.Handler, _ route: RouteEntry?) {
    self.server = server
    self.handler = handler
    self.route = route
  }

  func open(_ stream: HTTP2Stream) { self.stream = stream }

  func streamReceivedHeaders(_ stream: HTTP2Stream) {}

  func streamReceivedData(_ stream: HTTP2Stream) {
    guard !isAnswered else { return stream.consume(stream.inbound.count) }
    if stream.inbound.count > maximumBodyBytes {
      answer(route?.http?.tooLarge ?? refusal(413, "content too large\n", stream), toHead: false)
      stream.consume(stream.inbound.count)
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
  }

  func streamDrained(_ stream: HTTP2Stream) {}

  func streamOverBudget(_ stream: HTTP2Stream) {
    guard !isAnswered else { return }
    shed(.requestBytes, stream)
    stream.consume(stream.inbound.count)
  }

  private func shed(_ reason: ShedReason, _ stream: HTTP2Stream) {
    server.events.callShed(reason)
    answer(refusal(503, "too many requests are running\n", stream, [("retry-after", "1")]), toHead: false)
  }

  func streamClosed(_ stream: HTTP2Stream, _ error: HTTP2ErrorCode) {
    self.stream = nil
    isAnswered = true
    task?.cancel()
  }

  private func refusal(
    _ status: Int, _ text: String, _ stream: HTTP2Stream, _ headers: [(name: String, value: String)] = []
  ) -> HTTPServerResponse {
    .refusal(status, text, headers, to: stream.headers.text(.origin), server.configuration.cors)
  }

  private func request(_ stream: HTTP2Stream) -> HTTPServerRequest {
    let target = stream.headers.text(.path) ?? "/"
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var headers: [(name: String, value: String)] = []
    stream.headers.forEach { name, value, _ in
      headers.append((String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
    }
    return HTTPServerRequest(
      method: stream.headers.text(.method) ?? "GET", authority: stream.headers.text(.authority) ?? "", path: String(parts[0]),
      query: parts.count > 1 ? String(parts[1]) : "", headers: headers, body: [UInt8](stream.inbound.bytes),
      peer: ConnectionPeer.of(stream.connection))
  }

  private func run(_ request: HTTPServerRequest) async {
    var response: HTTPServerResponse
    do { response = try await handler(request) } catch {
      let incident = IncidentID.make()
      if !(error is CancellationError) { server.events.unexpectedHTTPError(request.path, error, incident) }
      response = .text(500, "internal error, incident \(incident)\n")
    }
    server.runningHandlers.giveBack(1)
    isRunning = false
    if let task { server.running.ended(task) }
    task = nil
    home?.runningHandlers -= 1
    home = nil
    if let stream, !isAnswered, !response.body.isEmpty, !stream.hasRoom { return shed(.responseBytes, stream) }
    answer(response, toHead: request.method == "HEAD")
  }

  private func answer(_ response: HTTPServerResponse, toHead: Bool) {
    guard let stream, !isAnswered else { return }
    isAnswered = true
    guard !response.resetsStream else { return stream.reset(.internalError) }
    let list = HeaderList(capacity: 2 + response.headers.count)
    list.append(":status", "\(response.status)")
    for (name, value) in response.headers { list.append(name, value) }
    if response.status != 204 { list.append("content-length", "\(response.body.count)") }
    let hasBody = !response.body.isEmpty && !toHead
    stream.respond(list, endsStream: !hasBody)
    if hasBody {
      stream.outbound.append(contentsOf: response.body)
      stream.finish()
    }
  }
}
