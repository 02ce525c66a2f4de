import EventLoop
import Glibc
import Outbound
import Testing

extension OutboundTests {
  @Suite("One exchange")
  struct Exchange {
    @Test("Status, headers and body arrive as they were sent")
    func whole() async throws {
      try await withClient(
        answering: { _ in .respond(418, [("X-One", "  a b "), ("x-one", "c")], Array("tea\0pot".utf8)) },
        { client, stub in
          let response = try await client.send(.init(.get, stub.url + "/path?q=1"))
          #expect(response.status == 418)
          #expect(response.headers["X-ONE"] == "a b")
          #expect(response.headers.all("x-one") == ["a b", "c"])
          #expect(response.body == Array("tea\0pot".utf8))
          #expect(response.version == .http1)
          #expect(stub.log[0].line == "GET /path?q=1 HTTP/1.1")
          #expect(stub.log[0].headers["user-agent"] == "parley/1")
          #expect(stub.log[0].headers["accept"] == nil)
        })
    }

    @Test(
      "The method and the body are sent as they are, with no invented content type",
      arguments: [
        ("POST", Array("a=1\0&b".utf8)), ("POST", []), ("PUT", [0, 1, 2, 255]), ("PATCH", Array("{}".utf8)), ("DELETE", nil),
        ("QUERY", Array("x".utf8)),
      ] as [(String, [UInt8]?)])
    func bodies(_ method: String, _ body: [UInt8]?) async throws {
      try await withClient(
        answering: { _ in .respond(200) },
        { client, stub in
          _ = try await client.send(.init(HTTPMethod(method), stub.url, headers: ["X-Empty": ""], body: body))
          let request = stub.log[0]
          #expect(request.line == "\(method) / HTTP/1.1")
          #expect(request.body == body ?? [])
          #expect(request.headers["content-type"] == nil)
          #expect(request.headers["expect"] == nil)
          #expect(request.headers["x-empty"] == "")
        })
    }

    @Test("A body of 2 MiB is sent at once, without asking first")
    func largeBody() async throws {
      try await withClient(
        answering: { _ in .respond(200) },
        { client, stub in
          let body = [UInt8](repeating: 7, count: 2 << 20)
          _ = try await client.send(.init(.post, stub.url, body: body))
          #expect(stub.log[0].headers["expect"] == nil)
          let isWhole = stub.log[0].body == body
          #expect(isWhole)
        })
    }

    @Test("HEAD ends with the headers, however large the body is that does not come")
    func head() async throws {
      try await withClient(
        answering: { _ in .raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\r\n".utf8)) },
        { client, stub in
          let response = try await client.send(.init(.head, stub.url))
          #expect(response.headers["content-length"] == "5000000000" && response.body.isEmpty)
        })
    }

    @Test("An interim response and trailers leave no trace in the headers")
    func interim() async throws {
      let bytes =
        "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Real: 2\r\n\r\n"
        + "3\r\nabc\r\n0\r\nX-Trailer: 3\r\n\r\n"
      try await withClient(
        answering: { _ in .raw(Array(bytes.utf8)) },
        { client, stub in
          let response = try await client.send(.init(.get, stub.url))
          #expect(response.text == "abc")
          #expect(response.headers["x-real"] == "2")
          #expect(response.headers["x-early"] == nil && response.headers["x-trailer"] == nil)
        })
    }

    @Test("A connection is used again for the next request")
    func reuse() async throws {
      try await withClient(
        answering: { _ in .respond(200) },
        { client, stub in
          for _ in 0..<20 { _ = try await client.send(.init(.get, stub.url)) }
          #expect(client.statistics.connections == 1)
          #expect(client.statistics.responses == 20)
          #expect(client.statistics.inFlight == 0)
        })
    }

    @Test("A task on a loop stays on its loop, and a task elsewhere is served too")
    func loops() async throws {
      try await withClient(
        loops: 2, answering: { _ in .respond(200) },
        { client, stub in
          let before = EventLoop.current?.name
          _ = try await client.send(.init(.get, stub.url))
          #expect(EventLoop.current?.name == before && before == "client-0")
          let url = stub.url
          let elsewhere = await Task.detached { try? await client.send(.init(.get, url)).status }.value
          #expect(elsewhere == 200)
        })
    }

    @Test("After 200 requests and a shutdown no descriptor is left")
    func descriptors() async throws {
      let stub = try StubServer { _ in .respond(200) }
      defer { stub.stop() }
      try await withClient { client in
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<200 { group.addTask { _ = try await client.send(.init(.get, stub.url)) } }
          try await group.waitForAll()
        }
        #expect(openSockets(to: stub.port) > 0)
        #expect(client.statistics.responses == 200)
        #expect(client.statistics.connections <= 6)
      }
      #expect(openSockets(to: stub.port) == 0)
    }
  }
}

/// This process's sockets that are connected to a port of this machine.
private func openSockets(to port: UInt16) -> Int {
  (0..<1024).count { descriptor in
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getpeername(Int32(descriptor), $0, &length) == 0 && SocketAddress($0)?.port == port
      }
    }
  }
}
