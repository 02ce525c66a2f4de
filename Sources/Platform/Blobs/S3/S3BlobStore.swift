internal import EventLoop
internal import JOSE
public import Outbound

/// Blobs in a bucket of S3 or whatever speaks like it: R2, Ceph, MinIO.
///
/// Every request is signed here. An upload's payload hash is the blob's own digest, so the store itself refuses content that was changed
/// on the way; its size is asked for again before the upload is said to be durable.
public struct S3BlobStore: BlobStore {
  private let configuration: S3Configuration
  private let signature: SignatureV4
  private let http: HTTPClient
  private let unixSeconds: @Sendable () -> Int64
  private static let retry = RetryPolicy(
    attempts: 4, baseDelay: .milliseconds(200), maximumDelay: .seconds(5), statuses: [429, 500, 502, 503, 504])

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
    var request = self.request(.put, key, [("content-type", type)], payload: key.hexadecimal)
    request.upload = HTTPUpload(size: content.size, open: content.open)
    request.timeout = time(for: content.size)
    _ = try await answer(to: request, "put")
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
    let size = range.map { max(0, min($0.upperBound, facts.size - 1) - max(0, $0.lowerBound) + 1) } ?? facts.size
    guard size > 0 else { return try await body(facts, BlobReader { () throws(BlobError) in nil }) }
    let fields = range.map { [("range", "bytes=\(max(0, $0.lowerBound))-\($0.upperBound)")] } ?? []
    var request = self.request(.get, key, fields, payload: SignatureV4.payload([]))
    request.maximumResponseSize = Int(clamping: size)
    request.timeout = time(for: size)
    let check = range == nil ? RunningDigest() : nil
    do {
      return try await http.withResponse(to: request) { head, download in
        guard head.status == (range == nil ? 200 : 206) else {
          var bytes: [UInt8] = []
          while bytes.count < 4096, let piece = try await download.next() { bytes += piece }
          throw S3Refusal(head.status, bytes, head.headers).error("get")
        }
        return try await body(
          facts,
          BlobReader { () async throws(BlobError) in
            let piece: [UInt8]?
            do throws(OutboundError) { piece = try await download.next() } catch { throw BlobError(error, "get") }
            if let check {
              if let piece { check.add(piece) } else if check.digest() != key.digest {
                throw BlobError(.corrupt, "get: what came has another digest")
              }
            }
            return piece
          })
      }
    } catch let error as OutboundError {
      throw BlobError(error, "get")
    }
  }

  /// As ``BlobStore/facts(_:)``.
  public func facts(_ key: BlobKey) async throws(BlobError) -> BlobFacts? {
    let response: HTTPResponse
    do { response = try await answer(to: request(.head, key, [], payload: SignatureV4.payload([])), "head") } catch {
      if error.code == .notFound { return nil }
      throw error
    }
    guard let size = response.headers["content-length"].flatMap({ Int64($0) }), size >= 0 else {
      throw BlobError(.unavailable, "head: the answer has no size")
    }
    return BlobFacts(size: size, type: response.headers["content-type"] ?? "application/octet-stream")
  }

  /// As ``BlobStore/delete(_:)``.
  public func delete(_ key: BlobKey) async throws(BlobError) {
    do { _ = try await answer(to: request(.delete, key, [], payload: SignatureV4.payload([])), "delete") } catch {
      guard error.code == .notFound else { throw error }
    }
  }

  /// As ``BlobStore/link(_:for:lifetime:)``.
  public func link(_ key: BlobKey, for use: BlobLinkUse, lifetime: Duration) throws(BlobError) -> String {
    let seconds = lifetime.components.seconds
    guard (1...900).contains(seconds) else { throw BlobError(.refused, "link: a lifetime of 1 s to 15 minutes") }
    let method = use == .download ? "GET" : "PUT"
    let wanted = SignatureV4.Request(method, host: configuration.host, path: configuration.path(key))
    return "\(configuration.scheme)://\(configuration.host)\(signature.presigned(wanted, lifetime: seconds, at: unixSeconds()))"
  }

  // MARK: Requests

  private func request(
    _ method: HTTPMethod, _ key: BlobKey, _ fields: [(name: String, value: String)], payload: String
  ) -> HTTPRequest {
    let wanted = SignatureV4.Request(
      method.name, host: configuration.host, path: configuration.path(key), headers: fields)
    var headers = HTTPHeaders()
    for field in fields + signature.headers(wanted, payload: payload, at: unixSeconds()) { headers.add(field.name, field.value) }
    var request = HTTPRequest(
      method, "\(configuration.scheme)://\(configuration.host)\(SignatureV4.path(wanted.path))", headers: headers)
    request.timeout = configuration.timeout
    request.retry = Self.retry
    return request
  }

  private func time(for size: Int64) -> Duration {
    configuration.timeout + .seconds(size / max(1, configuration.slowestRate))
  }

  private func answer(to request: HTTPRequest, _ what: String) async throws(BlobError) -> HTTPResponse {
    let response: HTTPResponse
    do { response = try await http.send(request) } catch { throw BlobError(error, what) }
    guard response.isSuccess else { throw S3Refusal(response.status, response.body, response.headers).error(what) }
    return response
  }
}

extension BlobError {
  init(_ error: OutboundError, _ what: String) {
    let code: Code =
      switch error.code {
      case .cancelled: .cancelled
      case .uploadFailed: .sourceFailed
      case .refusedURL, .invalidRequest, .tlsFailed: .refused
      default: .unavailable
      }
    self.init(code, "\(what): \(error)", retryAfter: error.retryAfter)
  }
}
