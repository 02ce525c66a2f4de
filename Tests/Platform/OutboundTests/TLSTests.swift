import EventLoop
import Outbound
import Testing

extension OutboundTests {
  @Suite("TLS and HTTP/2")
  struct TLS {
    private func trusting(_ files: TLSFiles) -> HTTPClientConfiguration {
      var configuration = HTTPClientConfiguration()
      configuration.caFile = files.certificate
      return configuration
    }

    private func nghttpd(_ files: TLSFiles) async throws -> Peer {
      try files.write("hello", "hello over h2")
      return try await Peer.start("/usr/sbin/nghttpd", ["-a", "127.0.0.1", "-d", ".", "0", "key.pem", "cert.pem"], in: files)
    }

    @Test("200 requests at once share two HTTP/2 connections of a loop")
    func multiplexed() async throws {
      let files = try await TLSFiles()
      let peer = try await nghttpd(files)
      defer { peer.stop() }
      var configuration = trusting(files)
      configuration.connectionsPerHost = 2
      try await withClient(configuration) { client in
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<200 {
            group.addTask {
              let response = try await client.send(.init(.get, "https://localhost:\(peer.port)/hello"))
              #expect(response.status == 200 && response.text == "hello over h2" && response.version == .http2)
            }
          }
          try await group.waitForAll()
        }
        #expect(client.statistics.responses == 200)
        #expect(client.statistics.connections <= 2)
      }
    }

    @Test("A certificate of an unknown authority is refused, and nothing is sent")
    func unknownAuthority() async throws {
      let files = try await TLSFiles()
      let peer = try await nghttpd(files)
      defer { peer.stop() }
      try await withClient { client in
        #expect(await failure(of: .init(.get, "https://localhost:\(peer.port)/hello"), with: client)?.code == .tlsFailed)
      }
    }

    @Test("A certificate for another name is refused")
    func wrongName() async throws {
      let files = try await TLSFiles()
      let peer = try await nghttpd(files)
      defer { peer.stop() }
      try await withClient(trusting(files)) { client in
        // The certificate says localhost alone.
        let named = try await client.send(.init(.get, "https://localhost:\(peer.port)/hello"))
        #expect(named.status == 200)
        #expect(await failure(of: .init(.get, "https://127.0.0.1:\(peer.port)/hello"), with: client)?.code == .tlsFailed)
      }
    }

    @Test("TLS below 1.2 is refused")
    func oldVersion() async throws {
      let files = try await TLSFiles()
      let peer = try await Peer.start(
        "/usr/bin/openssl",
        ["s_server", "-quiet", "-accept", "0", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0", "-key", "key.pem", "-cert", "cert.pem"],
        in: files)
      defer { peer.stop() }
      try await withClient(trusting(files)) { client in
        #expect(await failure(of: .init(.get, "https://localhost:\(peer.port)/"), with: client)?.code == .tlsFailed)
      }
    }

    @Test("A redirect is followed over TLS when asked, at most so many times")
    func redirects() async throws {
      let files = try await TLSFiles()
      try files.write("a", "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
      try files.write("b", "HTTP/1.1 302 Found\r\nLocation: /c\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
      try files.write("c", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nend")
      try files.write(
        "down", "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
      let peer = try await Peer.start(
        "/usr/bin/openssl", ["s_server", "-quiet", "-accept", "0", "-HTTP", "-key", "key.pem", "-cert", "cert.pem"], in: files)
      defer { peer.stop() }
      try await withClient(trusting(files)) { client in
        var request = HTTPRequest(.get, "https://localhost:\(peer.port)/a")
        request.redirects = .follow(atMost: 2)
        let last = try await client.send(request)
        #expect(last.text == "end")
        request.redirects = .follow(atMost: 1)
        #expect(await failure(of: request, with: client)?.code == .tooManyRedirects)
        request.url = "https://localhost:\(peer.port)/down"
        #expect(await failure(of: request, with: client)?.code == .refusedURL)
      }
    }
  }
}
