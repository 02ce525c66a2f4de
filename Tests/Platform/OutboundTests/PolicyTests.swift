import Outbound
import Testing

extension OutboundTests {
  @Suite("What may be sent")
  struct Policy {
    @Test(
      "Only https, and http to this machine, leave the house",
      arguments: [
        "http://example.com/", "http://127.0.0.1.example.com/", "http://10.0.0.1/", "http://[::2]/", "ftp://127.0.0.1/",
        "file:///etc/passwd", "https://user:secret@example.com/", "http://user@127.0.0.1/", "//example.com", "/path", "",
        "https://", "https://exa mple.com/", "https://example.com/\r\nX: y", "https://example.com/\0", "gopher://127.0.0.1:70/",
        "http://0x0a000001/", "http://128.0.0.1/", "http://localhost.example.com/",
      ])
    func refused(_ url: String) async throws {
      try await withClient { client in
        let error = await failure(of: .init(.get, url), with: client)
        #expect(error?.code == .refusedURL)
        #expect(error?.message.contains("secret") == false)
        #expect(client.statistics.attempts == 0)
      }
    }

    @Test("Loopback has many spellings", arguments: ["127.0.0.1", "127.1", "2130706433", "localhost", "LOCALHOST"])
    func loopback(_ host: String) async throws {
      try await withClient(
        answering: { _ in .respond(204) },
        { client, stub in
          #expect(await response(to: .init(.get, "http://\(host):\(stub.port)/"), from: client)?.status == 204)
        })
    }

    @Test("Plain http can be switched off altogether")
    func httpsOnly() async throws {
      var configuration = HTTPClientConfiguration()
      configuration.plainHTTP = .never
      try await withClient(
        configuration, answering: { _ in .respond(200) },
        { client, stub in
          #expect(await failure(of: .init(.get, stub.url), with: client)?.code == .refusedURL)
        })
    }

    @Test(
      "A header or method that would start another line is refused",
      arguments: [
        ("GET", "X-A", "b\r\nX-Injected: 1"), ("GET", "X-A", "b\n"), ("GET", "X-A", "b\0"), ("GET", "X A", "b"), ("GET", "", "b"),
        ("GET", "X-A:", "b"), ("GET /x HTTP/1.1\r\n", "X-A", "b"), ("", "X-A", "b"), ("GET", "X-A;", ""),
      ])
    func injection(_ method: String, _ name: String, _ value: String) async throws {
      try await withClient(
        answering: { _ in .respond(200) },
        { client, stub in
          let request = HTTPRequest(HTTPMethod(method), stub.url, headers: [name: value])
          #expect(await failure(of: request, with: client)?.code == .invalidRequest)
          #expect(stub.requestCount == 0)
        })
    }

    @Test("A redirect is the response, unless it shall be followed; then it may only lead to https")
    func redirect() async throws {
      try await withClient(
        answering: { _ in .respond(302, [("Location", "/elsewhere")]) },
        { client, stub in
          var request = HTTPRequest(.get, stub.url)
          #expect(await response(to: request, from: client)?.status == 302)
          #expect(stub.requestCount == 1)
          request.redirects = .follow(atMost: 3)
          #expect(await failure(of: request, with: client)?.code == .refusedURL)
          #expect(stub.requestCount == 2)
        })
    }

    @Test("An error names method and URL, and neither query, header nor body")
    func noSecrets() async throws {
      try await withClient(
        answering: { _ in .drop(after: []) },
        { client, stub in
          let request = HTTPRequest(
            .post, stub.url + "/token?key=SECRET1", headers: ["Authorization": "Bearer SECRET2"], body: Array("SECRET3".utf8))
          let error = await failure(of: request, with: client)
          #expect(error?.description.contains("POST http://127.0.0.1:\(stub.port)/token:") == true)
          #expect(error?.description.contains("SECRET") == false)
        })
    }

    @Test("No cookie comes back that a peer has set")
    func cookies() async throws {
      try await withClient(
        answering: { _ in .respond(200, [("Set-Cookie", "a=b; Path=/")]) },
        { client, stub in
          for _ in 0..<2 { _ = try await client.send(.init(.get, stub.url)) }
          #expect(stub.log[1].headers["cookie"] == nil)
        })
    }
  }
}
