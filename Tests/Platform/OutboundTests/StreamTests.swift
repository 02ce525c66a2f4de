import EventLoop
import Glibc
import Outbound
import Synchronization
import TestSupport
import Testing

extension OutboundTests {
  @Suite("Bodies in pieces")
  struct Streams {
    private struct Broken: Error {}

    /// `count` pieces of `size` bytes, each filled with its number, and how many were asked for.
    private final class Source: Sendable {
      let asked = Atomic(0)
      let opened = Atomic(0)
      let count: Int
      let size: Int

      init(count: Int, size: Int) { (self.count, self.size) = (count, size) }

      var bytes: [UInt8] { (0..<count).flatMap { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: size) } }

      func upload(announcing announced: Int? = nil, pausing: Bool = false) -> HTTPUpload {
        HTTPUpload(size: Int64(announced ?? count * size)) { [self] in
          opened.add(1, ordering: .relaxed)
          let next = Atomic(0)
          return { [self] in
            asked.add(1, ordering: .relaxed)
            let number = next.add(1, ordering: .relaxed).oldValue
            if pausing { try await EventLoop.current?.sleep(for: .milliseconds(1)) }
            return number < count ? [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size) : nil
          }
        }
      }
    }

    private func put(_ url: String, _ upload: HTTPUpload) -> HTTPRequest {
      var request = HTTPRequest(.put, url)
      request.upload = upload
      return request
    }

    private func whole(_ download: HTTPDownload) async throws -> [UInt8] {
      var bytes: [UInt8] = []
      while let piece = try await download.next() { bytes += piece }
      return bytes
    }

    // MARK: Sending

    @Test(
      "A body in pieces arrives whole and with its length, whether the pieces come at once or late", arguments: [false, true])
    func arrives(pausing: Bool) async throws {
      try await withClient(answering: { .respond(200, [], Array("\($0.body.count)".utf8)) }) { client, stub in
        let source = Source(count: 50, size: 7001)
        let response = try await client.send(put(stub.url, source.upload(pausing: pausing)))
        #expect(response.status == 200 && response.text == "350050")
        let request = try #require(stub.log.first)
        #expect(request.headers["content-length"] == "350050" && request.body == source.bytes)
        #expect(request.headers["expect"] == nil && request.headers["transfer-encoding"] == nil)
      }
    }

    @Test("An empty body in pieces is a body of length 0")
    func empty() async throws {
      try await withClient(answering: { _ in .respond(200) }) { client, stub in
        let response = try await client.send(put(stub.url, Source(count: 0, size: 1).upload()))
        #expect(response.status == 200 && stub.log.first?.headers["content-length"] == "0")
      }
    }

    @Test("A peer that does not read holds the source back")
    func heldBack() async throws {
      let group = try EventLoopGroup(count: 1, name: "deaf")
      defer { group.shutDown() }
      let taken = Mutex<[Int32]>([])
      let listener = try Listener(on: SocketAddress("127.0.0.1:0"), group: group) { descriptor, _, _ in
        taken.withLock { $0.append(descriptor) }
      }
      listener.start()
      defer {
        listener.close()
        for descriptor in taken.withLock({ $0 }) { close(descriptor) }
      }
      try await withClient { client in
        let source = Source(count: 4096, size: 64 << 10)
        var request = put("http://127.0.0.1:\(listener.address.port ?? 0)", source.upload())
        request.timeout = .seconds(2)
        #expect(await failure(of: request, with: client)?.code == .timeout)
        // What the two sockets hold between them, and one piece.
        #expect(source.asked.load(ordering: .relaxed) < 1024)
      }
    }

    @Test("A source that breaks off breaks the request off, and the peer never has a whole one")
    func breaksOff() async throws {
      try await withClient(answering: { _ in .respond(200) }) { client, stub in
        let upload = HTTPUpload(size: 100) {
          let isFirst = Atomic(true)
          return {
            guard isFirst.exchange(false, ordering: .relaxed) else { throw Broken() }
            return [1, 2, 3]
          }
        }
        let error = try #require(await failure(of: put(stub.url, upload), with: client))
        #expect(error.code == .uploadFailed && error.message.contains("Broken"))
        try await stub.connectionEnded.wait()
        #expect(stub.requestCount == 0)
      }
    }

    @Test("A body that is one byte shorter or longer than announced is not sent as a whole one", arguments: [699, 701])
    func wrongSize(announced: Int) async throws {
      try await withClient(answering: { _ in .respond(200) }) { client, stub in
        let error = try #require(
          await failure(of: put(stub.url, Source(count: 7, size: 100).upload(announcing: announced)), with: client))
        #expect(error.code == .uploadFailed && error.message.contains("\(announced) bytes"))
        #expect(stub.requestCount == 0)
      }
    }

    @Test("Each attempt begins the body anew")
    func again() async throws {
      try await withClient(clock: ManualClock().clock, answering: { .respond($0.number == 1 ? 503 : 200) }) { client, stub in
        let source = Source(count: 3, size: 1000)
        var request = put(stub.url, source.upload())
        request.retry = .interactive
        let response = try await client.send(request)
        #expect(response.status == 200 && source.opened.load(ordering: .relaxed) == 2)
        #expect(stub.log.map(\.body) == [source.bytes, source.bytes])
      }
    }

    @Test("Two bodies are refused, and nothing is sent")
    func twoBodies() async throws {
      try await withClient(answering: { _ in .respond(200) }) { client, stub in
        var request = put(stub.url, Source(count: 1, size: 1).upload())
        request.body = [1]
        #expect(await failure(of: request, with: client)?.code == .invalidRequest && stub.requestCount == 0)
      }
    }

    // MARK: Receiving

    @Test("A response is there with its header section, and its body comes in pieces to its last byte")
    func received() async throws {
      let body = Source(count: 300, size: 10_007).bytes
      try await withClient(answering: { _ in .respond(206, [("X-Kind", "large")], body) }) { client, stub in
        var request = HTTPRequest(.get, stub.url)
        request.maximumResponseSize = body.count
        let bytes = try await client.withResponse(to: request) { head, download in
          #expect(head.status == 206 && head.headers["x-kind"] == "large" && head.body.isEmpty)
          return try await whole(download)
        }
        #expect(bytes == body)
      }
    }

    @Test("A response without a body ends at once")
    func withoutBody() async throws {
      try await withClient(answering: { _ in .respond(204) }) { client, stub in
        let bytes = try await client.withResponse(to: HTTPRequest(.get, stub.url)) { head, download in
          #expect(head.status == 204)
          return try await whole(download)
        }
        #expect(bytes.isEmpty)
      }
    }

    @Test("One byte more than is accepted ends the body with an error after what was accepted")
    func tooLarge() async throws {
      let head = Array("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".utf8)
      try await withClient(answering: { _ in .drop(after: head + [UInt8](repeating: 7, count: 1001)) }) { client, stub in
        var request = HTTPRequest(.get, stub.url)
        request.maximumResponseSize = 1000
        let error = await #expect(throws: OutboundError.self) {
          _ = try await client.withResponse(to: request) { try await whole($1) }
        }
        #expect(error?.code == .responseTooLarge)
      }
    }

    @Test("What is too large is told also when its reader is late, after a part that is right")
    func tooLargeForLateReader() async throws {
      let head = Array("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".utf8)
      let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 1000) }
      try await withClient(answering: { $0.number == 1 ? .drop(after: head + body) : .respond(204) }) { client, stub in
        var request = HTTPRequest(.get, stub.url)
        request.maximumResponseSize = 600_000
        let seen = Mutex<[UInt8]>([])
        let error = await #expect(throws: OutboundError.self) {
          try await client.withResponse(to: request) { _, download in
            // Meanwhile as much comes as there is room for.
            for _ in 0..<20 { _ = try await client.send(HTTPRequest(.get, stub.url)) }
            while let piece = try await download.next() {
              seen.withLock { $0 += piece }
              _ = try await client.send(HTTPRequest(.get, stub.url))
            }
          }
        }
        let bytes = seen.withLock { $0 }
        #expect(error?.code == .responseTooLarge && bytes.count <= 600_000 && bytes == Array(body.prefix(bytes.count)))
      }
    }

    @Test("A body that breaks off is told as such")
    func brokenBody() async throws {
      let part = Array("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".utf8)
      try await withClient(answering: { _ in .drop(after: part) }) { client, stub in
        let seen = Mutex<[UInt8]>([])
        let error = await #expect(throws: OutboundError.self) {
          try await client.withResponse(to: HTTPRequest(.get, stub.url)) { _, download in
            while let piece = try await download.next() { seen.withLock { $0 += piece } }
          }
        }
        #expect(error?.code == .connectionLost && seen.withLock { $0 } == Array("half".utf8))
      }
    }

    @Test("Who has seen enough leaves, and the rest is not fetched")
    func left() async throws {
      let body = [UInt8](repeating: 1, count: 64 << 20)
      try await withClient(answering: { _ in .respond(200, [], body) }) { client, stub in
        var request = HTTPRequest(.get, stub.url)
        request.maximumResponseSize = body.count
        let count = try await client.withResponse(to: request) { _, download in try await download.next()?.count ?? 0 }
        #expect(count > 0)
        try await stub.connectionEnded.wait()
        #expect(client.statistics.bytesReceived < body.count / 2)
      }
    }

    @Test("A status that is tried again is, before anybody sees it")
    func retried() async throws {
      let answers = { @Sendable (request: StubServer.Request) -> StubServer.Answer in
        request.number == 1 ? .respond(503, [], [9, 9]) : .respond(200, [], [1])
      }
      try await withClient(clock: ManualClock().clock, answering: answers) { client, stub in
        var request = HTTPRequest(.get, stub.url)
        request.retry = .interactive
        let bytes = try await client.withResponse(to: request) { head, download in
          #expect(head.status == 200)
          return try await whole(download)
        }
        #expect(bytes == [1] && stub.requestCount == 2)
      }
    }

    // MARK: HTTP/2

    @Test("Over HTTP/2 a body goes and comes in pieces, while either side waits for the other", arguments: [false, true])
    func overHTTP2(pausing: Bool) async throws {
      let files = try await TLSFiles()
      let peer = try await Peer.start(
        "/usr/sbin/nghttpd", ["--echo-upload", "-a", "127.0.0.1", "-d", ".", "0", "key.pem", "cert.pem"], in: files)
      defer { peer.stop() }
      var configuration = HTTPClientConfiguration()
      configuration.caFile = files.certificate
      try await withClient(configuration) { client in
        let source = Source(count: 60, size: 50_021)
        var request = put("https://localhost:\(peer.port)/", source.upload(pausing: pausing))
        request.maximumResponseSize = 4 << 20
        let bytes = try await client.withResponse(to: request) { head, download in
          #expect(head.status == 200 && head.version == .http2)
          var bytes: [UInt8] = []
          while let piece = try await download.next() {
            bytes += piece
            for _ in 0..<(pausing ? 100 : 0) { await Task.yield() }
          }
          return bytes
        }
        #expect(bytes == source.bytes)
      }
    }
  }
}
