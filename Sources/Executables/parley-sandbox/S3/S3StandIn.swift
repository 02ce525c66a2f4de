import Blobs
import Glibc
import RPC
import RPCServer
import Synchronization

/// One bucket of S3 in memory, path style, that takes nothing whose signature or payload hash is not exactly right.
final class S3StandIn: Sendable {
  /// The path by which requests are counted and told to fail.
  static let path = "/s3/objects"
  /// The bucket.
  static let bucket = "parley-blobs"
  /// The region of signatures.
  static let region = "auto"
  /// Who may use it.
  static let credentials = SignatureV4.Credentials(accessKey: "PARLEYSANDBOXKEY", secretKey: "parley-sandbox-secret-key")

  private struct Stored {
    let body: [UInt8]
    let type: String
  }

  private let objects = Mutex<[String: Stored]>([:])
  private let judge: S3Judge

  /// An empty bucket. `now` is in seconds since 1970.
  init(now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }) {
    judge = S3Judge(Self.credentials, region: Self.region, now: now)
  }

  /// What is served.
  var routes: [StandInRoute] {
    [
      StandInRoute(
        method: "GET", otherMethods: ["PUT", "HEAD", "DELETE"], path: Self.path,
        patterns: [PathPattern(prefix: "/\(Self.bucket)/", suffix: "", spans: true)]
      ) { self.answer($0) }
    ]
  }

  /// The keys that are there, in their order.
  var keys: [String] { objects.withLock { $0.keys.sorted() } }

  /// What is stored under a key.
  subscript(key: String) -> [UInt8]? {
    get { objects.withLock { $0[key]?.body } }
    set { objects.withLock { $0[key] = newValue.map { Stored(body: $0, type: "application/octet-stream") } } }
  }

  private func answer(_ request: HTTPServerRequest) -> HTTPServerResponse {
    if let refusal = judge.refusal(of: request) { return Self.refused(refusal) }
    let key = String(PercentEncoding.decode(Array(request.path.utf8)).dropFirst(Self.bucket.count + 2))
    switch request.method {
    case "PUT":
      let stored = Stored(body: request.body, type: request.header("content-type") ?? "binary/octet-stream")
      objects.withLock { $0[key] = stored }
      return HTTPServerResponse(200)
    case "DELETE":
      objects.withLock { $0[key] = nil }
      return HTTPServerResponse(204)
    default:
      guard let stored = objects.withLock({ $0[key] }) else { return Self.refused(.init(404, "NoSuchKey")) }
      return Self.found(stored, request)
    }
  }

  private static func found(_ stored: Stored, _ request: HTTPServerRequest) -> HTTPServerResponse {
    let fields = [("content-type", stored.type), ("accept-ranges", "bytes")]
    guard let range = request.header("range") else { return HTTPServerResponse(200, headers: fields, body: stored.body) }
    let ends = range.dropFirst("bytes=".utf8.count).split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard range.hasPrefix("bytes="), ends.count == 2, let first = ends[0], first < stored.body.count else {
      return refused(.init(416, "InvalidRange"))
    }
    let last = min(ends[1] ?? .max, stored.body.count - 1)
    guard last >= first else { return refused(.init(416, "InvalidRange")) }
    return HTTPServerResponse(
      206, headers: fields + [("content-range", "bytes \(first)-\(last)/\(stored.body.count)")],
      body: Array(stored.body[first...last]))
  }

  private static func refused(_ refusal: S3Judge.Refusal) -> HTTPServerResponse {
    HTTPServerResponse(
      refusal.status, headers: [("content-type", "application/xml")],
      body: Array("<Error><Code>\(refusal.code)</Code><Message>The sandbox refuses.</Message></Error>".utf8))
  }
}
