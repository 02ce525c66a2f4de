import EventLoop
import Outbound
import Testing

extension OutboundTests {
  @Suite("Retries")
  struct Retries {
    private static let three: HTTPClientConfiguration = {
      var configuration = HTTPClientConfiguration()
      configuration.retry = RetryPolicy(attempts: 3)
      configuration.circuit = nil
      return configuration
    }()

    @Test("A passing failure is tried again with growing, jittered waits")
    func backoff() async throws {
      let manual = ManualClock(jitter: 0.5)
      try await withClient(
        Self.three, clock: manual.clock, answering: { $0.number < 3 ? .respond(503) : .respond(200) },
        { client, stub in
          #expect(await response(to: .init(.get, stub.url), from: client)?.status == 200)
          #expect(manual.sleeps == [.milliseconds(50), .milliseconds(100)])
          #expect(client.statistics.retries == 2)
        })
    }

    @Test("The last attempt's response is returned")
    func exhausted() async throws {
      try await withClient(
        Self.three, clock: ManualClock().clock, answering: { .respond(503, [], [UInt8($0.number)]) },
        { client, stub in
          let response = try await client.send(.init(.get, stub.url))
          #expect(response.status == 503 && response.body == [3])
          #expect(stub.requestCount == 3)
        })
    }

    @Test(
      "Retry-After is honoured as seconds and as a date, up to the limit",
      arguments: [
        ("2", .seconds(2)), ("0", .milliseconds(50)), ("10", .seconds(10)), ("11", nil), ("99999999999999999999", nil),
        ("Sun, 06 Nov 1994 08:49:40 GMT", .seconds(3)), ("Sun, 06 Nov 1994 08:49:00 GMT", .milliseconds(50)),
        ("Tue, 29 Feb 2028 00:00:00 GMT", nil), ("soon", .milliseconds(50)), ("-1", .milliseconds(50)),
      ] as [(String, Duration?)])
    func retryAfter(_ value: String, _ wait: Duration?) async throws {
      // The manual clock's wall time is Sun, 06 Nov 1994 08:49:37 GMT.
      let manual = ManualClock(jitter: 0.5)
      try await withClient(
        Self.three, clock: manual.clock,
        answering: { $0.number == 1 ? .respond(429, [("Retry-After", value)]) : .respond(200) },
        { client, stub in
          #expect(await response(to: .init(.get, stub.url), from: client)?.status == (wait == nil ? 429 : 200))
          #expect(manual.sleeps == (wait.map { [$0] } ?? []))
        })
    }

    @Test("A POST is sent once, unless the request says that it may be repeated")
    func onlyRepeatable() async throws {
      try await withClient(
        Self.three, clock: ManualClock().clock, answering: { _ in .respond(503) },
        { client, stub in
          var request = HTTPRequest(.post, stub.url, body: [1])
          _ = try await client.send(request)
          #expect(stub.requestCount == 1)
          request.mayBeRepeated = true
          _ = try await client.send(request)
          #expect(stub.requestCount == 4)
        })
    }

    @Test("A status that is final is not tried again", arguments: [200, 400, 401, 404, 500, 501])
    func finalStatus(_ status: Int) async throws {
      try await withClient(
        Self.three, clock: ManualClock().clock, answering: { _ in .respond(status) },
        { client, stub in
          #expect(await response(to: .init(.get, stub.url), from: client)?.status == status)
          #expect(stub.requestCount == 1)
        })
    }

    @Test("A lost connection is tried again, a response that is too large is not")
    func transport() async throws {
      try await withClient(
        Self.three, clock: ManualClock().clock,
        answering: {
          $0.number == 1 ? .drop(after: Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1".utf8)) : .respond(200, [], [1, 2])
        },
        { client, stub in
          var request = HTTPRequest(.get, stub.url)
          #expect(await response(to: request, from: client)?.status == 200)
          #expect(stub.requestCount == 2)
          request.maximumResponseSize = 1
          #expect(await failure(of: request, with: client)?.code == .responseTooLarge)
          #expect(stub.requestCount == 3)
        })
    }

    @Test("No attempt begins after the deadline")
    func withinDeadline() async throws {
      let manual = ManualClock(jitter: 0.5)
      try await withClient(
        Self.three, clock: manual.clock, answering: { _ in .respond(503, [("Retry-After", "3")]) },
        { client, stub in
          var request = HTTPRequest(.get, stub.url)
          request.timeout = .seconds(5)
          #expect(await response(to: request, from: client)?.status == 503)
          #expect(stub.requestCount == 2 && manual.sleeps == [.seconds(3)])
        })
    }

    @Test("An attempt has a time limit of its own")
    func attemptTimeout() async throws {
      var configuration = Self.three
      configuration.retry.attemptTimeout = .milliseconds(500)
      try await withClient(
        configuration, clock: ManualClock().clock, answering: { $0.number == 1 ? .hang : .respond(200) },
        { client, stub in
          #expect(await response(to: .init(.get, stub.url), from: client)?.status == 200)
          #expect(stub.requestCount == 2)
        })
    }
  }
}
