import EventLoop
import Synchronization
import Telemetry
import Testing

@Suite("Loopback listener")
struct LoopbackListenerTests {
  private func withListener(
    _ limits: LoopbackListener.Limits = .init(), _ body: @escaping @Sendable (LoopbackListener, EventLoop) async throws -> Void
  ) async throws {
    try await onLoop { group in
      let listener = try LoopbackListener(
        on: SocketAddress("127.0.0.1:0"), group: group,
        routes: [
          "/healthz": { _ in .init("ok\n") }, "/down": { _ in .init(status: 503, "no\n") },
          "/echo": { .init("\($0.path)?\($0.query)\n") },
          "/large": { _ in .init(contentType: "application/octet-stream", body: [UInt8](repeating: 65, count: 64 << 20)) },
        ], limits: limits)
      listener.start()
      defer { listener.close() }
      try await body(listener, group.loops[0])
    }
  }

  private func answer(
    to request: String, _ limits: LoopbackListener.Limits = .init(), check: @escaping @Sendable (String, RawClient) -> Void
  )
    async throws
  {
    try await withListener(limits) { listener, loop in
      let client = try RawClient(to: listener.address, on: loop)
      defer { client.close() }
      check(try await client.exchange(request), client)
    }
  }

  @Test("A GET of a known path gets its route's answer")
  func get() async throws {
    try await answer(to: "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") { text, client in
      #expect(text.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n"))
      #expect(text.hasSuffix("\r\n\r\nok\n"))
      #expect(!client.hasEnded)
    }
  }

  @Test(
    "What is not a GET of a known path is refused with the fitting status",
    arguments: [
      ("GET /nothing HTTP/1.1\r\n\r\n", 404), ("POST /healthz HTTP/1.1\r\n\r\n", 405), ("HEAD /healthz HTTP/1.1\r\n\r\n", 405),
      ("GET /healthz HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 413),
      ("GET /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 413),
      ("GET healthz HTTP/1.1\r\n\r\n", 400), ("GET /healthz\r\n\r\n", 400), ("GET /healthz HTTP/2.0\r\n\r\n", 400),
      ("GET  /healthz HTTP/1.1\r\n\r\n", 400), ("GET /healthz HTTP/1.1\r\nnonsense\r\n\r\n", 400), ("\r\n\r\n", 400),
      ("GET /down HTTP/1.1\r\n\r\n", 503), ("PRI * HTTP/2.0\r\n\r\n", 400),
    ])
  func refused(_ request: String, _ status: Int) async throws {
    try await answer(to: request) { text, _ in #expect(text.hasPrefix("HTTP/1.1 \(status) ")) }
  }

  @Test("Headers of exactly 8 KiB are served, one byte more is refused")
  func headerLimit() async throws {
    let frame = "GET /healthz HTTP/1.1\r\nX: \r\n\r\n"
    for (size, status) in [(8_192, 200), (8_193, 431)] {
      let request = frame.replacing("X: ", with: "X: " + String(repeating: "a", count: size - frame.utf8.count))
      try await answer(to: request) { text, _ in #expect(text.hasPrefix("HTTP/1.1 \(status) ")) }
    }
  }

  @Test("Closing the listener ends a connection that waits for its next request")
  func closing() async throws {
    var limits = LoopbackListener.Limits()
    limits.idleTimeout = .seconds(600)
    try await withListener(limits) { listener, loop in
      let client = try RawClient(to: listener.address, on: loop)
      defer { client.close() }
      #expect(try await client.exchange("GET /healthz HTTP/1.1\r\n\r\n").hasPrefix("HTTP/1.1 200 OK"))
      #expect(!client.hasEnded)
      listener.close()
      try await client.wait { $0.hasEnded }
    }
  }

  @Test("A connection serves one request after the other, also when they come together or in pieces")
  func keepAlive() async throws {
    try await withListener { listener, loop in
      let client = try RawClient(to: listener.address, on: loop)
      defer { client.close() }
      for piece in ["GET /echo?a=", "b HTTP/1.1\r", "\n\r\nGET /echo?c HTTP/1.1\r\n\r\n"] { client.send(piece) }
      let both = try await client.exchange("", answers: 2)
      #expect(both.contains("/echo?a=b\n") && both.hasSuffix("/echo?c\n"))
      let third = try await client.exchange("GET /echo HTTP/1.1\r\nConnection: close\r\n\r\n", answers: 3)
      #expect(third.hasSuffix("Connection: close\r\n\r\n/echo?\n"))
      try await client.wait { $0.hasEnded }
    }
  }

  @Test("The 65th connection is closed, and one that ends makes room")
  func connections() async throws {
    try await withListener { listener, loop in
      var clients: [RawClient] = []
      for _ in 0..<64 {
        let client = try RawClient(to: listener.address, on: loop)
        #expect(try await client.exchange("GET /healthz HTTP/1.1\r\n\r\n").hasPrefix("HTTP/1.1 200"))
        clients.append(client)
      }
      let refused = try RawClient(to: listener.address, on: loop)
      try await refused.wait { $0.hasEnded }
      #expect(refused.received.isEmpty)
      refused.close()
      _ = try await clients[0].exchange("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", answers: 2)
      try await clients[0].wait { $0.hasEnded }
      let next = try RawClient(to: listener.address, on: loop)
      #expect(try await next.exchange("GET /healthz HTTP/1.1\r\n\r\n").hasPrefix("HTTP/1.1 200"))
      next.close()
      for client in clients { client.close() }
    }
  }

  @Test("Whoever is idle, slow to ask or slow to read is closed", arguments: ["", "GET /hea", "GET /large HTTP/1.1\r\n\r\n"])
  func slow(_ request: String) async throws {
    var limits = LoopbackListener.Limits()
    limits.idleTimeout = .milliseconds(100)
    try await withListener(limits) { listener, loop in
      let client = try RawClient(to: listener.address, on: loop)
      defer { client.close() }
      client.send(request)
      if request.contains("large") { client.stopReading() }
      let start = MonotonicInstant.now()
      if request.contains("large") {
        // The kernel's buffers are full; what they held arrives, and then the end, well before the body would be whole.
        try await loop.sleep(for: .milliseconds(1_500))
        client.readAgain()
      }
      try await client.wait { $0.hasEnded }
      #expect(MonotonicInstant.now().duration(since: start) >= .milliseconds(90))
      #expect(client.received.count < 64 << 20)
    }
  }

  @Test("Every unit of load is given back")
  func load() async throws {
    try await withListener { listener, loop in
      let client = try RawClient(to: listener.address, on: loop)
      _ = try await client.exchange("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n")
      try await client.wait { $0.hasEnded }
      client.close()
      #expect(loop.load == 0)
    }
  }
}
