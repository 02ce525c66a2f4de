internal import EventLoop
internal import Glibc
internal import Synchronization

/// One connection: reads a request, answers it, and goes on or ends.
// SAFETY: used on its loop only; the loop keeps it through its watch.
final class LoopbackConnection: DescriptorHandler, @unchecked Sendable {
  private let descriptor: Int32
  private let loop: EventLoop
  private let shared: LoopbackListener.Shared
  private let timer = LoopTimer()
  private var watch: DescriptorWatch?
  private var input: [UInt8] = []
  private var output: [UInt8] = []
  private var sent = 0
  private var isAnswering = false
  private var isLast = false
  private var isOpen = true

  init(_ descriptor: Int32, on loop: EventLoop, _ shared: LoopbackListener.Shared) {
    self.descriptor = descriptor
    self.loop = loop
    self.shared = shared
  }

  func start() {
    watch = try? loop.watch(descriptor, for: .readable, self)
    timer.onFire = { [unowned self] in end() }
    if watch == nil || !shared.add(self) { end() } else { waitForRequest() }
  }

  /// Ends the connection, after its answer when there is one under way. May be called from any thread.
  func close() {
    loop.execute { [self] in
      if isAnswering || !output.isEmpty { isLast = true } else { end() }
    }
  }

  /// The timer runs from here to the end of the request: a client that sends a byte now and then gains nothing.
  private func waitForRequest() {
    watch?.setInterest(.readable)
    loop.arm(timer, after: shared.limits.idleTimeout)
  }

  func descriptorIsReady(_ readiness: Readiness) {
    if !output.isEmpty {
      flush()
    } else if isAnswering {
      // Nothing is read meanwhile, so this is the client's end.
      end()
    } else {
      read()
    }
  }

  private func read() {
    let room = shared.limits.headerBytes - input.count
    let count = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room) { buffer in
      let count = Glibc.read(descriptor, buffer.baseAddress, room)
      if count > 0 { input.append(contentsOf: buffer[..<count]) }
      return count
    }
    if count < 0 && (errno == EAGAIN || errno == EINTR) { return }
    guard count > 0 else { return end() }
    takeRequest()
  }

  private func takeRequest() {
    switch LoopbackRequestHead.parse(input, limit: shared.limits.headerBytes) {
    case .incomplete: break
    case .refused(let status):
      isLast = true
      answer(.init(status: status, "\(Self.reason(status))\n"))
    case .request(let request, let isKeptAlive, let length):
      input.removeFirst(length)
      isLast = !isKeptAlive
      guard let route = shared.routes[request.path] else { return answer(.init(status: 404, "not found\n")) }
      isAnswering = true
      watch?.setInterest([])
      loop.disarm(timer)
      loop.spawn { [self] in
        let response = await route(request)
        isAnswering = false
        if watch != nil { answer(response) }
      }
    }
  }

  private func answer(_ response: LoopbackListener.Response) {
    var head = "HTTP/1.1 \(response.status) \(Self.reason(response.status))\r\nContent-Type: \(response.contentType)\r\n"
    head += "Content-Length: \(response.body.count)\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
    if response.status == 405 { head += "Allow: GET\r\n" }
    if isLast { head += "Connection: close\r\n" }
    output = Array((head + "\r\n").utf8) + response.body
    sent = 0
    loop.arm(timer, after: shared.limits.idleTimeout)
    flush()
  }

  private func flush() {
    while sent < output.count {
      let count = output.withUnsafeBytes {
        send(descriptor, $0.baseAddress! + sent, output.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count < 0 && errno == EINTR { continue }
      if count < 0 && errno == EAGAIN {
        watch?.setInterest(.writable)
        return
      }
      guard count >= 0 else { return end() }
      sent += count
    }
    output = []
    guard !isLast else { return finish() }
    waitForRequest()
    // A request that came together with the last one raises no event of its own.
    if !input.isEmpty { takeRequest() }
  }

  /// Ends so that the client can still read the answer: what it sent meanwhile must be read, or TCP resets the connection.
  private func finish() {
    shutdown(descriptor, Int32(SHUT_WR))
    var waste = [UInt8](repeating: 0, count: 16 << 10)
    _ = Glibc.read(descriptor, &waste, waste.count)
    end()
  }

  private func end() {
    guard isOpen else { return }
    isOpen = false
    watch?.cancel()
    watch = nil
    loop.disarm(timer)
    timer.onFire = {}
    shared.remove(self)
    Glibc.close(descriptor)
    shared.open.subtract(1, ordering: .relaxed)
    loop.giveBackLoad()
  }

  private static func reason(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 400: "Bad Request"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 413: "Content Too Large"
    case 431: "Request Header Fields Too Large"
    case 503: "Service Unavailable"
    default: "Status"
    }
  }
}
