internal import JOSE
public import Outbound
internal import PostgreSQL
internal import Synchronization
public import Values

/// Blobs in a bucket of S3 or whatever speaks like it: R2, Ceph, MinIO.
///
/// Every request is signed here. An upload's payload hash is the blob's own digest, so the store itself refuses content that was changed
/// on the way; it is compared here too before its last piece leaves, and its size is asked for before it is said to be durable.
///
/// A transfer has 30 s and the time for its bytes at 128 KiB/s, 14 minutes at most; reading counts with what its reader does meanwhile.
public struct S3BlobStore: BlobStore {
  private let configuration: S3Configuration
  private let signature: SignatureV4
  private let http: HTTPClient
  private let unixSeconds: @Sendable () -> Int64
  private static let retry = RetryPolicy(
    attempts: 4, baseDelay: .milliseconds(200), maximumDelay: .seconds(5), statuses: [429, 500, 502, 503, 504])
  private static let mismatch = BlobError(.corrupt, "put: the content has another digest")
  private static let emptyPayload = SignatureV4.payload([])
  /// The links that are made live so many seconds.
  private static let lifetimes: ClosedRange<Int64> = 1...900

  /// The blobs of a bucket.
  ///
  /// - Parameters:
  ///   - configuration: Where it is.
  ///   - http: The way out.
  ///   - unixSeconds: The time of day; the store refuses what is signed more than 15 minutes off.
  public init(_ configuration: S3Configuration, over http: HTTPClient, unixSeconds: @escaping @Sendable () -> Int64) {
    self.configuration = configuration
    self.http = http
    self.unixSeconds = unixSeconds
    signature = SignatureV4(configuration.credentials, region: configuration.region)
  }

  // MARK: BlobStore

  /// As ``BlobStore/put(_:_:type:)``.
  public func put(_ key: BlobKey, _ content: BlobContent, type: String) async throws(BlobError) {
    try MediaType.check(type)
    guard content.size > 0 || key.digest == SHA256.digest([]) else { throw Self.mismatch }
    var request = request(.put, configuration.path(key), [("content-type", type)], payload: key.hexadecimal)
    let verified = content.verified(against: key)
    let isWrong = Atomic(false)
    request.upload = HTTPUpload(size: content.size) {
      let next = try await verified.open()
      return {
        do { return try await next() } catch let error as BlobContent.Mismatch {
          isWrong.store(true, ordering: .relaxed)
          throw error
        }
      }
    }
    request.timeout = configuration.time(for: content.size)
    do throws(BlobError) { _ = try await answer(to: request, "put") } catch {
      guard !isWrong.load(ordering: .relaxed) else { throw Self.mismatch }
      throw error
    }
    guard let stored = try await facts(key) else { throw BlobError(.unavailable, "put: the blob is not there afterwards") }
    guard stored.size == content.size else {
      throw BlobError(.corrupt, "put: \(stored.size) of \(content.size) bytes are there afterwards")
    }
  }

  /// As ``BlobStore/read(_:range:_:)``. The content of a whole blob is compared with its name as it passes: the last call of `next`
  /// throws `corrupt` where it differs.
  public func read<Value>(
    _ key: BlobKey, range: ClosedRange<Int64>?, _ body: (BlobFacts, BlobReader) async throws -> Value
  ) async throws -> Value {
    guard let facts = try await facts(key) else { throw BlobError(.notFound, "get: there is no such blob") }
    let part = facts.part(range)
    // Of no bytes there is no range to ask for.
    guard !part.isEmpty || range == nil else { return try await body(facts, BlobReader { () throws(BlobError) in nil }) }
    let fields = range == nil ? [] : [("range", "bytes=\(part.lowerBound)-\(part.upperBound - 1)")]
    var request = request(.get, configuration.path(key), fields, payload: Self.emptyPayload)
    // An answer that says no has a body too.
    request.maximumResponseSize = max(S3Answer.limit, Int(clamping: part.count))
    request.timeout = configuration.time(for: Int64(part.count))
    let outcome: Result<Value, any Error>
    do {
      outcome = try await http.withResponse(to: request) { head, download in
        guard head.status == (range == nil ? 200 : 206) else { throw await refusal(head, download) }
        let reader = reader(of: download, digest: range == nil ? key.digest : nil)
        // What `body` throws is its own, also where it has been asking others over the same way out.
        do { return .success(try await body(facts, reader)) } catch { return .failure(error) }
      }
    } catch let error as OutboundError {
      throw failure(error, "get")
    }
    return try outcome.get()
  }

  /// As ``BlobStore/facts(_:)``.
  public func facts(_ key: BlobKey) async throws(BlobError) -> BlobFacts? {
    let response: HTTPResponse
    do throws(BlobError) {
      response = try await answer(to: request(.head, configuration.path(key), payload: Self.emptyPayload), "head")
    } catch {
      if error.code == .notFound { return nil }
      throw error
    }
    guard let size = response.headers["content-length"].flatMap({ Int64($0) }), size >= 0 else {
      throw BlobError(.unavailable, "head: the answer has no size")
    }
    return BlobFacts(size: size, type: response.headers["content-type"] ?? MediaType.unknown)
  }

  /// As ``BlobStore/delete(_:)``.
  public func delete(_ key: BlobKey) async throws(BlobError) {
    do throws(BlobError) {
      _ = try await answer(to: request(.delete, configuration.path(key), payload: Self.emptyPayload), "delete")
    } catch {
      guard error.code == .notFound else { throw error }
    }
  }

  /// As ``BlobStore/keys(of:after:atMost:)``. What else is beneath the person's name is passed over.
  public func keys(of owner: UUID, after last: BlobKey?, atMost count: Int) async throws(BlobError) -> [BlobKey] {
    let prefix = configuration.prefixed("\(owner)/")
    var place: (name: String, value: String)? = last.map { ("start-after", configuration.prefixed($0.description)) }
    while true {
      var query = [("list-type", "2"), ("prefix", prefix), ("max-keys", "\(min(1_000, max(1, count)))")]
      if let place { query.append(place) }
      let response = try await answer(
        to: request(.get, configuration.bucketPath, query: query, payload: Self.emptyPayload), "list")
      let page = try S3Answer(response.body).page()
      let keys = page.names.compactMap { name in BlobKey(String(name.dropFirst(prefix.utf8.count - "\(owner)/".utf8.count))) }
      guard keys.isEmpty, let next = page.next else { return keys }
      place = ("continuation-token", next)
    }
  }

  /// As ``BlobStore/deleteAll(of:)``: one after the other, so that the store is not flooded.
  @discardableResult
  public func deleteAll(of owner: UUID) async throws(BlobError) -> Int {
    var count = 0
    var last: BlobKey?
    while true {
      let keys = try await keys(of: owner, after: last, atMost: 1_000)
      guard let end = keys.last else { return count }
      for key in keys { try await delete(key) }
      (count, last) = (count + keys.count, end)
    }
  }

  /// As ``BlobStore/link(_:for:lifetime:)``.
  public func link(_ key: BlobKey, for use: BlobLinkUse, lifetime: Duration) throws(BlobError) -> String {
    let seconds = lifetime.components.seconds
    guard Self.lifetimes.contains(seconds), lifetime <= .seconds(Self.lifetimes.upperBound) else {
      throw BlobError(.invalid, "link: a lifetime of 1 s to 15 minutes")
    }
    let wanted = SignatureV4.Request(use == .download ? "GET" : "PUT", host: configuration.host, path: configuration.path(key))
    return "\(configuration.scheme)://\(configuration.host)\(signature.presigned(wanted, lifetime: seconds, at: unixSeconds()))"
  }

  // MARK: Requests

  private func request(
    _ method: HTTPMethod, _ path: [String], _ fields: [(name: String, value: String)] = [],
    query: [(name: String, value: String)] = [], payload: String
  ) -> HTTPRequest {
    let wanted = SignatureV4.Request(method.name, host: configuration.host, path: path, query: query, headers: fields)
    var headers = HTTPHeaders()
    for field in fields + signature.headers(wanted, payload: payload, at: unixSeconds()) { headers.add(field.name, field.value) }
    let place = SignatureV4.path(path) + (query.isEmpty ? "" : "?\(SignatureV4.query(query))")
    var request = HTTPRequest(method, "\(configuration.scheme)://\(configuration.host)\(place)", headers: headers)
    request.timeout = configuration.timeout
    request.retry = Self.retry
    return request
  }

  private func answer(to request: HTTPRequest, _ what: String) async throws(BlobError) -> HTTPResponse {
    let response: HTTPResponse
    do { response = try await http.send(request) } catch { throw failure(error, what) }
    guard response.isSuccess else { throw S3Answer(response.body).error(what, response, unixSeconds: unixSeconds()) }
    return response
  }

  /// What a streamed answer says that says no.
  private func refusal(_ head: HTTPResponse, _ download: HTTPDownload) async -> BlobError {
    var bytes: [UInt8] = []
    while bytes.count < S3Answer.limit, let piece = try? await download.next() { bytes += piece }
    return S3Answer(bytes).error("get", head, unixSeconds: unixSeconds())
  }

  private func reader(of download: HTTPDownload, digest: [UInt8]?) -> BlobReader {
    let check = digest.map { (PassingDigest(), $0) }
    return BlobReader { () async throws(BlobError) in
      let piece: [UInt8]?
      do throws(OutboundError) { piece = try await download.next() } catch { throw failure(error, "get") }
      if let (passed, digest) = check {
        if let piece {
          passed.update(piece)
        } else if passed.finish() != digest {
          throw BlobError(.corrupt, "get: what came has another digest")
        }
      }
      return piece
    }
  }

  /// No log needs to know whose blob it was: the address is taken out, which stands before the reason.
  private func failure(_ error: OutboundError, _ what: String) -> BlobError {
    let code: BlobError.Code =
      switch error.code {
      case .cancelled: .cancelled
      case .uploadFailed: .sourceFailed
      case .refusedURL, .invalidRequest, .tlsFailed: .refused
      default: .unavailable
      }
    let reason = error.message.firstRange(of: ": ").map { error.message[$0.upperBound...] } ?? ""
    return BlobError(code, "\(what): \(error.code): \(reason)", retryAfter: error.retryAfter)
  }
}
