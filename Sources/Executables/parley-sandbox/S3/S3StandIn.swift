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

  /// What is stored under a key.
  struct Object: Sendable, Equatable {
    let body: [UInt8]
    let type: String
    /// How often it was stored since the bucket was emptied, its removals in between included.
    let puts: Int
  }

  private struct Contents {
    var objects: [String: Object] = [:]
    var puts: [String: Int] = [:]

    mutating func put(_ body: [UInt8], _ type: String, at key: String) {
      puts[key, default: 0] += 1
      objects[key] = Object(body: body, type: type, puts: puts[key, default: 0])
    }
  }

  private let contents = Mutex(Contents())
  private let judge: S3Judge

  /// An empty bucket. `now` is in seconds since 1970.
  init(now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }) {
    judge = S3Judge(Self.credentials, region: Self.region, now: now)
  }

  /// What is served.
  var routes: [StandInRoute] {
    var route = StandInRoute(
      method: "GET", otherMethods: ["PUT", "HEAD", "DELETE"], path: Self.path, aliases: ["/\(Self.bucket)"],
      patterns: [PathPattern(prefix: "/\(Self.bucket)/", suffix: "", spans: true)]
    ) { self.answer($0) }
    route.refusal = { status, code in Self.refused(.init(status, code ?? Self.usual[status] ?? "InternalError")) }
    return [route]
  }

  /// What a bucket says with a status when nothing more is known.
  private static let usual = [
    301: "PermanentRedirect", 307: "TemporaryRedirect", 400: "InvalidRequest", 403: "AccessDenied", 404: "NoSuchKey",
    405: "MethodNotAllowed", 409: "OperationAborted", 411: "MissingContentLength", 412: "PreconditionFailed", 416: "InvalidRange",
    429: "TooManyRequests", 501: "NotImplemented", 503: "SlowDown",
  ]

  /// What is there.
  var objects: [String: Object] { contents.withLock { $0.objects } }

  /// The keys that are there, in the order of their bytes.
  var keys: [String] { objects.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }

  /// What is stored under a key.
  subscript(key: String) -> [UInt8]? {
    get { objects[key]?.body }
    set {
      contents.withLock { contents in
        if let newValue { contents.put(newValue, "application/octet-stream", at: key) } else { contents.objects[key] = nil }
      }
    }
  }

  /// Empties the bucket, and forgets that anything was ever in it.
  func reset() { contents.withLock { $0 = Contents() } }

  private func answer(_ request: HTTPServerRequest) -> HTTPServerResponse {
    if let refusal = judge.refusal(of: request) { return Self.refused(refusal) }
    guard request.path.hasPrefix("/\(Self.bucket)/") else {
      guard request.method == "GET" else { return Self.refused(.init(405, "MethodNotAllowed")) }
      return S3List(request.query).map { $0.answer(keys, of: Self.bucket) } ?? Self.refused(.init(400, "InvalidArgument"))
    }
    let key = String(PercentEncoding.decode(Array(request.path.utf8)).dropFirst(Self.bucket.count + 2))
    switch request.method {
    case "PUT":
      let type = request.header("content-type") ?? "binary/octet-stream"
      contents.withLock { $0.put(request.body, type, at: key) }
      return HTTPServerResponse(200)
    case "DELETE":
      contents.withLock { $0.objects[key] = nil }
      return HTTPServerResponse(204)
    default:
      guard let object = objects[key] else { return Self.refused(.init(404, "NoSuchKey")) }
      return Self.found(object, request)
    }
  }

  private static func found(_ object: Object, _ request: HTTPServerRequest) -> HTTPServerResponse {
    let fields = [("content-type", object.type), ("accept-ranges", "bytes")]
    guard let range = request.header("range") else { return HTTPServerResponse(200, headers: fields, body: object.body) }
    let ends = range.dropFirst("bytes=".utf8.count).split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard range.hasPrefix("bytes="), ends.count == 2, let first = ends[0], (0..<object.body.count).contains(first) else {
      return refused(.init(416, "InvalidRange"))
    }
    let last = min(ends[1] ?? .max, object.body.count - 1)
    guard last >= first else { return refused(.init(416, "InvalidRange")) }
    return HTTPServerResponse(
      206, headers: fields + [("content-range", "bytes \(first)-\(last)/\(object.body.count)")],
      body: Array(object.body[first...last]))
  }

  private static func refused(_ refusal: S3Judge.Refusal) -> HTTPServerResponse {
    HTTPServerResponse(
      refusal.status, headers: [("content-type", "application/xml")],
      body: Array("<Error><Code>\(refusal.code)</Code><Message>The sandbox refuses.</Message></Error>".utf8))
  }
}
