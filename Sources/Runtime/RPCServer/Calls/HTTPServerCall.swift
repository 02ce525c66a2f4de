internal import Buffers
internal import EventLoop
internal import HTTP2
internal import RPC

/// One plain HTTP request on one HTTP/2 stream. The handler runs once the request is whole.
// SAFETY: used on its loop only; the handler's task prefers it.
final class HTTPServerCall: HTTP2StreamHandler, @unchecked Sendable {
  private let server: ServerLoop
  private let handler: HTTPRoute.Handler
  private var stream: HTTP2Stream?
  private var task: Task<Void, Never>?
  private var home: HTTP2Connection?
  private var isRunning = false
  private var isAnswered = false

  init(on server: ServerLoop, _ handler: @escaping HTTPRoute.Handler) {
    self.server = server
    self.handler = handler
  }

  func open(_ stream: HTTP2Stream) { self.stream = stream }

  func streamReceivedHeaders(_ stream: HTTP2Stream) {}

  func streamReceivedData(_ stream: HTTP2Stream) {
    guard !isAnswered else { return stream.consume(stream.inbound.count) }
    if stream.inbound.count > server.configuration.maximumHTTPBodyBytes {
      answer(refusal(413, "content too large\n", stream), toHead: false)
      stream.consume(stream.inbound.count)
    } else {
      stream.openWindow(stream.unopenedBytes)
    }
  }

  func streamReceivedEnd(_ stream: HTTP2Stream) {
    guard !isAnswered else { return }
    guard server.runningHandlers < server.configuration.maximumRunningHandlersPerLoop, server.hasRoom(on: stream) else {
      return answer(refusal(503, "too many requests are running\n", stream, [("retry-after", "1")]), toHead: false)
    }
    server.runningHandlers += 1
    let request = request(stream)
    isRunning = true
    let task = Task.immediate(executorPreference: server.loop) { await self.run(request) }
    guard isRunning else { return }
    if !isAnswered { self.task = task }
    home = stream.isClosed ? nil : stream.connection
    home?.runningHandlers += 1
  }

  func streamDrained(_ stream: HTTP2Stream) {}

  func streamClosed(_ stream: HTTP2Stream, _ error: HTTP2ErrorCode) {
    self.stream = nil
    isAnswered = true
    task?.cancel()
    task = nil
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
      method: stream.headers.text(.method) ?? "GET", path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "",
      headers: headers, body: [UInt8](stream.inbound.bytes), peer: ConnectionPeer.of(stream.connection))
  }

  private func run(_ request: HTTPServerRequest) async {
    var response: HTTPServerResponse
    do { response = try await handler(request) } catch {
      let incident = IncidentID.make()
      if !(error is CancellationError) { server.events.unexpectedHTTPError(request.path, error, incident) }
      response = .text(500, "internal error, incident \(incident)\n")
    }
    server.runningHandlers -= 1
    isRunning = false
    home?.runningHandlers -= 1
    home = nil
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
