import Blobs
import JOSE
import JSON
import Outbound
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Values

@testable import parley_sandbox

@Suite("Sandbox: S3") struct SandboxS3Tests {
  private static let owner = UUID(high: 7, low: 8)

  private static func store(
    _ running: RunningSandbox, secret: String = S3StandIn.credentials.secretKey, skew: Int64 = 0, at time: Int64? = nil
  ) throws -> S3BlobStore {
    let configuration = try #require(
      S3Configuration(
        endpoint: running.url, bucket: S3StandIn.bucket, region: S3StandIn.region,
        credentials: .init(accessKey: S3StandIn.credentials.accessKey, secretKey: secret)))
    return S3BlobStore(configuration, over: running.http) { time ?? Instant.now().seconds + skew }
  }

  private static func key(_ bytes: [UInt8]) throws -> BlobKey {
    try #require(BlobKey(owner: owner, digest: SHA256.digest(bytes)))
  }

  private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) } }

  @Test("What was stored is found with its size and type, read back whole and in part, and gone when it was removed")
  func roundTrip() async throws {
    try await RunningSandbox.run { running in
      let (store, bytes) = (try Self.store(running), Self.bytes(3_000_000))
      let key = try Self.key(bytes)
      #expect(try await store.facts(key) == nil)
      try await store.put(key, BlobContent(bytes), type: "audio/mp4")
      #expect(running.sandbox.s3.keys == [key.description] && running.sandbox.s3[key.description] == bytes)
      #expect(try await store.facts(key) == BlobFacts(size: 3_000_000, type: "audio/mp4"))
      #expect(try await store.read(key, range: nil) { try await $1.whole(atMost: 3_000_000) } == bytes)
      #expect(
        try await store.read(key, range: 2_999_990...4_000_000) { try await $1.whole(atMost: 10) } == Array(bytes.suffix(10)))
      #expect(try await store.read(key, range: 3_000_000...3_000_001) { try await $1.whole(atMost: 10) } == [])
      for _ in 0..<2 { try await store.delete(key) }
      #expect(try await store.facts(key) == nil && running.sandbox.s3.keys.isEmpty)
      let error = await #expect(throws: BlobError.self) { try await store.read(key, range: nil) { _, _ in } }
      #expect(error?.code == .notFound)
    }
  }

  @Test("A person's blobs are named in pages and all removed, whatever else is beneath the name, and nobody else's")
  func person() async throws {
    try await RunningSandbox.run { running in
      let store = try Self.store(running)
      for number in 0..<25 { try await store.put([UInt8(number)], of: Self.owner, type: "a/b") }
      let other = try await store.put([0], of: UUID(high: 7, low: 9), type: "a/b")
      // Before, between and behind all digests; with what XML escapes.
      for name in ["!", "5&<x>", "~"] { running.sandbox.s3["\(Self.owner)/\(name)"] = [1] }
      var found: [BlobKey] = []
      while true {
        let page = try await store.keys(of: Self.owner, after: found.last, atMost: 1)
        guard let last = page.last else { break }
        #expect(page.count == 1)
        found.append(last)
      }
      #expect(found.map(\.hexadecimal) == (0..<25).map { SHA256.digest([$0]) }.map { Hexadecimal.text($0) }.sorted())
      #expect(try await store.keys(of: Self.owner, after: nil, atMost: 1000) == found)
      #expect(try await store.deleteAll(of: Self.owner) == 25)
      #expect(running.sandbox.s3.keys.count == 4 && running.sandbox.s3[other.description] != nil)
    }
  }

  @Test("What the reader of a blob throws comes out as it is, also an error of the way out")
  func readersError() async throws {
    try await RunningSandbox.run { running in
      let store = try Self.store(running)
      let key = try await store.put(Self.bytes(1000), of: Self.owner, type: "a/b")
      let error = await #expect(throws: OutboundError.self) {
        try await store.read(key, range: nil) { _, _ in throw OutboundError(.timeout, "a provider's") }
      }
      #expect(error?.code == .timeout)
    }
  }

  @Test("No error names whose blob it was")
  func discreet() async throws {
    try await RunningSandbox.run { running in
      let (store, bytes) = (try Self.store(running), Self.bytes(10))
      let key = try await store.put(bytes, of: Self.owner, type: "a/b")
      running.sandbox.faults.add(.init(path: S3StandIn.path, drops: true))
      let dropped = await #expect(throws: BlobError.self) { try await store.delete(key) }
      running.sandbox.faults.remove()
      running.sandbox.faults.add(.init(path: S3StandIn.path, status: 418))
      let refused = await #expect(throws: BlobError.self) { try await store.put(bytes, of: Self.owner, type: "a/b") }
      running.sandbox.faults.remove()
      #expect(dropped?.code == .unavailable && refused?.code == .refused)
      for error in [dropped, refused] { #expect(error?.description.contains("\(Self.owner)") == false, "\("\(error as Any)")") }
    }
  }

  @Test("An empty blob is a blob")
  func empty() async throws {
    try await RunningSandbox.run { running in
      let (store, key) = (try Self.store(running), try Self.key([]))
      try await store.put(key, BlobContent([]), type: "a/b")
      #expect(try await store.facts(key)?.size == 0)
      #expect(try await store.read(key, range: nil) { try await $1.whole(atMost: 0) } == [])
    }
  }

  @Test("A wrong secret, and a clock 15 minutes and a minute off, are refused, and nothing is stored", arguments: [0, -960, 960])
  func refused(skew: Int64) async throws {
    try await RunningSandbox.run { running in
      let store = try Self.store(running, secret: skew == 0 ? "another" : S3StandIn.credentials.secretKey, skew: skew)
      let bytes = Self.bytes(10)
      let error = await #expect(throws: BlobError.self) {
        try await store.put(try Self.key(bytes), BlobContent(bytes), type: "a/b")
      }
      #expect(error?.code == .refused && running.sandbox.s3.keys.isEmpty)
      #expect(error?.message.contains(skew == 0 ? "SignatureDoesNotMatch" : "RequestTimeTooSkewed") == true)
    }
  }

  @Test("Content that is not what its name says never arrives whole, and is told as corrupt", arguments: [[], [2]] as [[UInt8]])
  func corrupt(bytes: [UInt8]) async throws {
    try await RunningSandbox.run { running in
      let store = try Self.store(running)
      let error = await #expect(throws: BlobError.self) {
        try await store.put(try Self.key([1]), BlobContent(bytes), type: "a/b")
      }
      #expect(error?.code == .corrupt && running.sandbox.counters[S3StandIn.path].requests == 0)
    }
  }

  @Test("A body that was changed on the way is refused by the store: its digest is signed")
  func changedOnTheWay() async throws {
    try await RunningSandbox.run { running in
      let key = try Self.key([1])
      let signature = SignatureV4(S3StandIn.credentials, region: S3StandIn.region)
      let host = String(running.url.dropFirst("https://".count))
      let path = "/\(S3StandIn.bucket)/\(key)"
      let wanted = SignatureV4.Request("PUT", host: host, path: [S3StandIn.bucket, key.description])
      var request = HTTPRequest(.put, running.url + path, body: [2])
      for field in signature.headers(wanted, payload: key.hexadecimal, at: Instant.now().seconds) {
        request.headers.add(field.name, field.value)
      }
      let response = try await running.send(request)
      #expect(
        response.status == 400 && response.text?.contains("XAmzContentSHA256Mismatch") == true && running.sandbox.s3.keys.isEmpty)
      request.body = [1]
      #expect(try await running.send(request).status == 200)
    }
  }

  @Test("Content that was changed in the store is told as corrupt at the end of reading it")
  func changed() async throws {
    try await RunningSandbox.run { running in
      let (store, bytes) = (try Self.store(running), Self.bytes(1000))
      let key = try Self.key(bytes)
      running.sandbox.s3[key.description] = [UInt8](repeating: 0, count: 1000)
      let error = await #expect(throws: BlobError.self) {
        try await store.read(key, range: nil) { _ = try await $1.whole(atMost: 1000) }
      }
      #expect(error?.code == .corrupt)
    }
  }

  @Test(
    "What a bucket answers is told as what it means for a blob, with the bucket's own code",
    arguments: [
      (404, "NoSuchBucket", .refused), (404, nil, .notFound), (400, "BadDigest", .corrupt), (400, "InvalidDigest", .corrupt),
      (400, "RequestTimeout", .unavailable), (400, nil, .refused), (400, "ExpiredToken", .refused), (403, nil, .refused),
      (409, nil, .unavailable), (409, "ConditionalRequestConflict", .unavailable), (412, nil, .refused), (429, nil, .unavailable),
      (500, nil, .unavailable), (503, nil, .unavailable), (503, "ServiceUnavailable", .unavailable), (301, nil, .refused),
    ] as [(Int, String?, BlobError.Code)])
  func answers(status: Int, code: String?, meaning: BlobError.Code) async throws {
    let usual = [
      301: "PermanentRedirect", 400: "InvalidRequest", 403: "AccessDenied", 404: "NoSuchKey", 409: "OperationAborted",
      412: "PreconditionFailed", 429: "TooManyRequests", 500: "InternalError", 503: "SlowDown",
    ]
    try await RunningSandbox.run { running in
      let store = try Self.store(running)
      // Waited for by nobody: it is longer than the way out repeats anything for.
      running.sandbox.faults.add(.init(path: S3StandIn.path, status: status, code: code, retryAfter: "17"))
      let error = await #expect(throws: BlobError.self) { try await store.put([1], of: Self.owner, type: "a/b") }
      let said = "put: status \(status) \(code ?? usual[status] ?? "")"
      #expect(error?.code == meaning && error?.message == said, "\(error as Any)")
      #expect(error?.retryAfter == (meaning == .unavailable ? .seconds(17) : nil))
      #expect(running.sandbox.counters[S3StandIn.path].requests == 1 && running.sandbox.s3.keys.isEmpty)
    }
  }

  @Test(
    "A wait that a bucket tells as a date is told by the store's clock, and one of over a day as a day",
    arguments: [
      ("Sat, 01 Jan 2050 00:01:00 GMT", .seconds(60)), ("Sat, 01 Jan 2050 00:00:11 GMT", .seconds(11)),
      ("Mon, 03 Jan 2050 00:00:00 GMT", .seconds(86_400)), ("99999", .seconds(86_400)), ("soon", nil),
    ] as [(String, Duration?)])
  func waits(field: String, wait: Duration?) async throws {
    try await RunningSandbox.run { running in
      // 2050 by the store's clock, so that the way out, which has another, waits for none of them.
      let store = try Self.store(running, at: 2_524_608_000)
      running.sandbox.faults.add(.init(path: S3StandIn.path, status: 503, retryAfter: field))
      let error = await #expect(throws: BlobError.self) { try await store.delete(try Self.key([1])) }
      #expect(error?.code == .unavailable && error?.retryAfter == wait, "\(error as Any)")
    }
  }

  @Test("A fault of one method leaves the others as they are: what was stored is not said to be while nobody can look at it")
  func oneMethod() async throws {
    try await RunningSandbox.run { running in
      let store = try Self.store(running)
      let fault: JSONObject = ["path": .string(S3StandIn.path), "method": "HEAD", "status": 503, "retryAfter": "17", "count": 1]
      #expect(try await running.post("/sandbox/faults", fault).status == 200)
      let error = await #expect(throws: BlobError.self) { try await store.put([1], of: Self.owner, type: "a/b") }
      // The answer to HEAD has no body that names a code.
      #expect(error?.code == .unavailable && error?.message == "head: status 503" && running.sandbox.s3.keys.count == 1)
      #expect(running.sandbox.faults.pending.isEmpty)
      try await store.put([1], of: Self.owner, type: "a/b")
      let unknown = try await running.post("/sandbox/faults", ["path": .string(S3StandIn.path), "method": "POST", "status": 500])
      #expect(unknown.status == 400)
    }
  }

  @Test("A store that is busy is asked again, with the content from its beginning")
  func busy() async throws {
    try await RunningSandbox.run { running in
      let (store, bytes) = (try Self.store(running), Self.bytes(200_000))
      running.sandbox.faults.add(.init(path: S3StandIn.path, status: 503, count: 2))
      let opened = Atomic(0)
      let content = BlobContent(size: Int64(bytes.count)) {
        opened.add(1, ordering: .relaxed)
        return try await BlobContent(bytes).open()
      }
      let key = try Self.key(bytes)
      try await store.put(key, content, type: "a/b")
      #expect(running.sandbox.s3[key.description] == bytes && opened.load(ordering: .relaxed) == 3)
    }
  }

  @Test("A link lets anybody read, another one store, for as long as it says and nothing else")
  func links() async throws {
    try await RunningSandbox.run { running in
      let (store, bytes) = (try Self.store(running), Self.bytes(100))
      let key = try Self.key(bytes)
      let upload = try store.link(key, for: .upload, lifetime: .seconds(900))
      #expect(try await running.send(HTTPRequest(.put, upload, body: bytes)).status == 200)
      let download = try store.link(key, for: .download, lifetime: .seconds(900))
      let response = try await running.send(HTTPRequest(.get, download))
      #expect(response.status == 200 && response.body == bytes)
      #expect(try await running.send(HTTPRequest(.put, download, body: [1])).status == 403)
      #expect(try await running.send(HTTPRequest(.get, download.replacing(key.hexadecimal, with: "0"))).status == 403)
      let old = try Self.store(running, skew: -902).link(key, for: .download, lifetime: .seconds(900))
      #expect(try await running.send(HTTPRequest(.get, old)).status == 403)
      for lifetime in [Duration.zero, .seconds(901)] {
        #expect(throws: BlobError.self) { try store.link(key, for: .download, lifetime: lifetime) }
      }
    }
  }
}
