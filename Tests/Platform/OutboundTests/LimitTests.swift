import EventLoop
import Outbound
import Synchronization
import TestSupport
import Testing

extension OutboundTests {
  @Suite("Limits and failures")
  struct Limits {
    @Test("A body of exactly the cap passes, one byte more does not", arguments: [true, false])
    func cap(isChunked: Bool) async throws {
      try await withClient(
        answering: { request in
          let body = [UInt8](repeating: 65, count: request.line.contains("/over") ? 100_001 : 100_000)
          guard isChunked else { return .respond(200, [], body) }
          let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(String(body.count, radix: 16))\r\n"
          return .raw(Array(head.utf8) + body + Array("\r\n0\r\n\r\n".utf8))
        },
        { client, stub in
          var request = HTTPRequest(.get, stub.url)
          request.maximumResponseSize = 100_000
          #expect(await response(to: request, from: client)?.body.count == 100_000)
          request.url = stub.url + "/over"
          #expect(await failure(of: request, with: client)?.code == .responseTooLarge)
        })
    }

    @Test("The default cap is 1 MiB")
    func defaultCap() async throws {
      try await withClient(
        answering: { .respond(200, [], [UInt8](repeating: 65, count: $0.number == 1 ? 1 << 20 : (1 << 20) + 1)) },
        { client, stub in
          #expect(await response(to: .init(.get, stub.url), from: client)?.body.count == 1 << 20)
          #expect(await failure(of: .init(.get, stub.url), with: client)?.code == .responseTooLarge)
        })
    }

    @Test("Headers beyond 64 KiB end the response")
    func headerCap() async throws {
      try await withClient(
        answering: { request in
          .respond(200, (0..<(request.number == 1 ? 60 : 70)).map { ("X-\($0)", String(repeating: "h", count: 1_000)) })
        },
        { client, stub in
          #expect(await response(to: .init(.get, stub.url), from: client)?.headers.count == 61)
          #expect(await failure(of: .init(.get, stub.url), with: client)?.code == .responseTooLarge)
        })
    }

    @Test(
      "A peer that never answers is given up after the timeout or the deadline, whichever is first", arguments: [true, false])
    func timeout(byDeadline: Bool) async throws {
      try await withClient(
        answering: { _ in .hang },
        { client, stub in
          var request = HTTPRequest(.get, stub.url)
          request.timeout = byDeadline ? .seconds(20) : .milliseconds(80)
          request.deadline = .now().advanced(by: byDeadline ? .milliseconds(80) : .seconds(20))
          let start = MonotonicInstant.now()
          #expect(await failure(of: request, with: client)?.code == .timeout)
          let took = MonotonicInstant.now().duration(since: start)
          #expect(took >= .milliseconds(75) && took < .seconds(5))
          try await stub.connectionEnded.wait()
        })
    }

    @Test("A deadline that has passed sends nothing")
    func passed() async throws {
      try await withClient(
        answering: { _ in .respond(200) },
        { client, stub in
          var request = HTTPRequest(.get, stub.url)
          request.deadline = .now()
          #expect(await failure(of: request, with: client)?.code == .timeout)
          #expect(stub.requestCount == 0 && client.statistics.attempts == 0)
        })
    }

    @Test("A response that is late but in time arrives")
    func delay() async throws {
      try await withClient(
        answering: { _ in .delayed(.milliseconds(60), .respond(200)) },
        { client, stub in
          #expect(await response(to: .init(.get, stub.url), from: client)?.status == 200)
        })
    }

    @Test("A cancelled task ends its transfer and closes its connection")
    func cancel() async throws {
      try await withClient(
        answering: { _ in .hang },
        { client, stub in
          let url = stub.url
          let task = Task(executorPreference: EventLoop.current) { await failure(of: .init(.get, url), with: client)?.code }
          try await stub.received.wait()
          task.cancel()
          #expect(await task.value == .cancelled)
          try await stub.connectionEnded.wait()
          #expect(client.statistics.inFlight == 0)
        })
    }

    @Test("A task that is cancelled before it sends, sends nothing")
    func cancelledBefore() async throws {
      try await withClient(
        answering: { _ in .respond(200) },
        { client, stub in
          let url = stub.url
          let code = await withTaskGroup(of: OutboundError.Code?.self) { group in
            group.cancelAll()
            group.addTask { await failure(of: .init(.get, url), with: client)?.code }
            return await group.next() ?? nil
          }
          #expect(code == .cancelled)
          #expect(stub.requestCount == 0)
        })
    }

    @Test("Shutting down fails what is under way")
    func shutDown() async throws {
      try await withClient(
        answering: { _ in .hang },
        { client, stub in
          let url = stub.url
          let task = Task(executorPreference: EventLoop.current) { await failure(of: .init(.get, url), with: client)?.code }
          try await stub.received.wait()
          await client.shutDown()
          #expect(await task.value == .cancelled)
          #expect(await failure(of: .init(.get, url), with: client)?.code == .cancelled)
        })
    }

    @Test("A client whose loops have ended fails what is sent and what was under way, and can be shut down (RF-08)")
    func loopsEnded() async throws {
      let stub = try StubServer { _ in .hang }
      defer { stub.stop() }
      let group = try EventLoopGroup(count: 1, name: "ended")
      let client = try HTTPClient(loops: group.loops)
      let url = stub.url
      let codes = Mutex<[String: OutboundError.Code?]>([:])
      let (done, closed) = (Tally("requests that ended"), Tally("clients shut down"))
      // Tasks of their own: one that never ends fails the test and does not hold it.
      let send = { @Sendable (name: String) in
        Task { @Sendable in
          let code = await failure(of: .init(.get, url), with: client)?.code
          codes.withLock { $0[name] = code }
          done.add()
        }
      }
      let cancelled = send("cancelled")
      try await stub.received.wait()
      _ = send("under way")
      try await stub.received.wait()
      await group.end(leaving: client)
      cancelled.cancel()
      _ = send("late")
      try await done.reaches(2)
      Task {
        await client.shutDown()
        closed.add()
      }
      try await closed.reaches(1)
      try await done.reaches(3)
      #expect(codes.withLock { $0 } == ["cancelled": .cancelled, "under way": .cancelled, "late": .cancelled])
    }

    @Test(
      "A connection that breaks off is an error, not a short response",
      arguments: [
        "", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nabc",
      ])
    func drop(_ bytes: String) async throws {
      try await withClient(
        answering: { _ in .drop(after: Array(bytes.utf8)) },
        { client, stub in
          let code = await failure(of: .init(.post, stub.url), with: client)?.code
          #expect(code == .connectionLost)
        })
    }

    @Test("What is not HTTP is refused")
    func garbage() async throws {
      try await withClient(
        answering: { _ in .drop(after: Array("SSH-2.0-OpenSSH_9\r\n".utf8)) },
        { client, stub in
          let code = await failure(of: .init(.get, stub.url), with: client)?.code
          #expect(code == .malformedResponse)
        })
    }

    @Test("A port where nobody listens is a failed connection")
    func refused() async throws {
      let stub = try StubServer { _ in .hang }
      let url = stub.url
      stub.stop()
      try await withClient { client in
        #expect(await failure(of: .init(.get, url), with: client)?.code == .connectFailed)
      }
    }
  }
}
