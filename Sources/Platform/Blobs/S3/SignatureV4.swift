internal import JOSE
internal import RPC
internal import Values

/// AWS Signature Version 4 for S3 and what speaks like it, as the service's reference describes it.
///
/// Pure: time and credentials are parameters. What is signed must be sent exactly so: the path and the query come encoded from here.
///
/// It also judges: whoever holds the secret makes the same signature, or it is wrong.
public struct SignatureV4: Sendable {
  /// Who signs.
  public struct Credentials: Sendable, CustomStringConvertible {
    /// The access key's name.
    public let accessKey: String
    /// The secret key.
    public let secretKey: String
    /// The token of temporary credentials.
    public let sessionToken: String?

    /// Credentials.
    public init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
      self.accessKey = accessKey
      self.secretKey = secretKey
      self.sessionToken = sessionToken
    }

    /// The name alone.
    public var description: String { "Credentials(\(accessKey))" }
  }

  /// What is signed.
  public struct Request: Sendable {
    /// The method, in upper case.
    public var method: String
    /// The host, with the port if it is not the scheme's own.
    public var host: String
    /// The path's parts as they are, not encoded, without slashes in front: `["bucket", "user/key"]` is `/bucket/user/key`.
    public var path: [String]
    /// The query's names and values as they are, not encoded.
    public var query: [(name: String, value: String)]
    /// The other header fields that are signed.
    public var headers: [(name: String, value: String)]

    /// A request.
    public init(
      _ method: String, host: String, path: [String], query: [(name: String, value: String)] = [],
      headers: [(name: String, value: String)] = []
    ) {
      self.method = method
      self.host = host
      self.path = path
      self.query = query
      self.headers = headers
    }
  }

  /// The payload hash of a body that is not signed.
  public static let unsignedPayload = "UNSIGNED-PAYLOAD"
  private static let algorithm = "AWS4-HMAC-SHA256"

  private let credentials: Credentials
  private let region: String
  private let service: String

  /// Signatures of `credentials` for a region.
  public init(_ credentials: Credentials, region: String, service: String = "s3") {
    self.credentials = credentials
    self.region = region
    self.service = service
  }

  // MARK: By header fields

  /// The header fields to send with a request, `authorization` among them, beside its own and `host`.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - payload: SHA-256 of the body in hexadecimal digits, or ``unsignedPayload``.
  ///   - unixSeconds: The time.
  public func headers(_ request: Request, payload: String, at unixSeconds: Int64) -> [(name: String, value: String)] {
    let time = Self.time(unixSeconds)
    var added = [("x-amz-content-sha256", payload), ("x-amz-date", time)]
    if let token = credentials.sessionToken { added.append(("x-amz-security-token", token)) }
    let signed = Self.canonical(request.headers + [("host", request.host)] + added)
    let text = Self.text(request, query: request.query, signed, payload)
    let authorization =
      "\(Self.algorithm) Credential=\(credentials.accessKey)/\(scope(time)), SignedHeaders=\(signed.names), "
      + "Signature=\(signature(of: text, time))"
    return added + [("authorization", authorization)]
  }

  // MARK: By query

  /// The path and query of a URL that carries its own permission. What its user sends beside the signed fields is not looked at.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - lifetime: Seconds, 1 to 604,800.
  ///   - unixSeconds: The time.
  public func presigned(_ request: Request, lifetime: Int64, at unixSeconds: Int64) -> String {
    let time = Self.time(unixSeconds)
    let signed = Self.canonical(request.headers + [("host", request.host)])
    var query = request.query
    query += [
      ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", "\(credentials.accessKey)/\(scope(time))"),
      ("X-Amz-Date", time), ("X-Amz-Expires", "\(lifetime)"), ("X-Amz-SignedHeaders", signed.names),
    ]
    if let token = credentials.sessionToken { query.append(("X-Amz-Security-Token", token)) }
    let text = Self.text(request, query: query, signed, Self.unsignedPayload)
    return Self.path(request.path) + "?" + Self.query(query) + "&X-Amz-Signature=\(signature(of: text, time))"
  }

  // MARK: Parts

  /// The path as it is sent: encoded once, and nothing taken away.
  public static func path(_ parts: [String]) -> String {
    "/" + parts.map { encode($0, sparing: UInt8(ascii: "/")) }.joined(separator: "/")
  }

  /// The query as it is sent: encoded, then in the order of its bytes.
  public static func query(_ items: [(name: String, value: String)]) -> String {
    items.map { (encode($0.name), encode($0.value)) }
      .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
      .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
  }

  /// SHA-256 of a body as the payload hash.
  public static func payload(_ body: [UInt8]) -> String { Hexadecimal.text(SHA256.digest(body)) }

  private static func text(
    _ request: Request, query: [(name: String, value: String)], _ signed: (lines: String, names: String), _ payload: String
  ) -> String {
    [request.method, path(request.path), self.query(query), signed.lines, signed.names, payload].joined(separator: "\n")
  }

  private func signature(of request: String, _ time: String) -> String {
    let text = [Self.algorithm, time, scope(time), Hexadecimal.text(SHA256.digest(request))].joined(separator: "\n")
    var key = Array("AWS4\(credentials.secretKey)".utf8)
    for part in [String(time.prefix(8)), region, service, "aws4_request", text] {
      key = HMACSHA256.authenticationCode(for: Array(part.utf8), key: key)
    }
    return Hexadecimal.text(key)
  }

  private func scope(_ time: String) -> String { "\(time.prefix(8))/\(region)/\(service)/aws4_request" }

  /// One line for each name, in the order of names; repeated names have their values joined in the order they were given.
  private static func canonical(_ headers: [(name: String, value: String)]) -> (lines: String, names: String) {
    var values: [String: [String]] = [:]
    for header in headers {
      let words = header.value.split(omittingEmptySubsequences: true) { $0 == " " || $0 == "\t" }
      values[header.name.lowercased(), default: []].append(words.joined(separator: " "))
    }
    let names = values.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    return (names.map { "\($0):\(values[$0, default: []].joined(separator: ","))\n" }.joined(), names.joined(separator: ";"))
  }

  /// Every byte but letters, digits and `-_.~`, as `%XX`.
  private static func encode(_ text: String, sparing spared: UInt8? = nil) -> String {
    let bytes = PercentEncoding.escaped(text.utf8) { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "~"):
        true
      default: byte == spared
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// `20260102T030405Z`.
  static func time(_ unixSeconds: Int64) -> String {
    Instant(microseconds: unixSeconds * 1_000_000).description.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
  }
}
