import Blobs
import MessagesCore
import RPC
import RPCServer

/// Judges who asks a bucket, by making the signature once more.
struct S3Judge: Sendable {
  /// A status with the code that S3 has for it.
  struct Refusal: Sendable, Equatable {
    let status: Int
    let code: String

    init(_ status: Int, _ code: String) { (self.status, self.code) = (status, code) }
  }

  /// How far apart the clocks may be, in seconds.
  private static let skew: Int64 = 900

  private let credentials: SignatureV4.Credentials
  private let signature: SignatureV4
  private let now: @Sendable () -> Int64

  init(_ credentials: SignatureV4.Credentials, region: String, now: @escaping @Sendable () -> Int64) {
    self.credentials = credentials
    self.now = now
    signature = SignatureV4(credentials, region: region)
  }

  /// Why a request is refused; nil when it is as it should be.
  func refusal(of request: HTTPServerRequest) -> Refusal? {
    let query = Self.items(request.query)
    if query.contains(where: { $0.name == "X-Amz-Signature" }) { return presignedRefusal(request, query) }
    guard let authorization = request.header("authorization") else { return Refusal(403, "AccessDenied") }
    guard let date = request.header("x-amz-date"), let time = Self.unixSeconds(date),
      let payload = request.header("x-amz-content-sha256"), let names = Self.signedHeaders(authorization)
    else { return Refusal(400, "AuthorizationHeaderMalformed") }
    guard abs(time - now()) <= Self.skew else { return Refusal(403, "RequestTimeTooSkewed") }
    let own = ["host", "x-amz-date", "x-amz-content-sha256"]
    guard own.allSatisfy(names.contains) else { return Refusal(403, "AccessDenied") }
    let headers = names.filter { !own.contains($0) }.flatMap { name in request.headerValues(name).map { (name, $0) } }
    let wanted = SignatureV4.Request(
      request.method, host: Self.host(request), path: Self.path(request), query: query, headers: headers)
    guard signature.headers(wanted, payload: payload, at: time).last?.value == authorization else {
      return Refusal(403, "SignatureDoesNotMatch")
    }
    guard payload == SignatureV4.unsignedPayload || payload == SignatureV4.payload(request.body) else {
      return Refusal(400, "XAmzContentSHA256Mismatch")
    }
    return nil
  }

  private func presignedRefusal(_ request: HTTPServerRequest, _ query: [(name: String, value: String)]) -> Refusal? {
    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }
    guard let time = value("X-Amz-Date").flatMap(Self.unixSeconds), let lifetime = value("X-Amz-Expires").flatMap({ Int64($0) }),
      (1...604_800).contains(lifetime), let names = value("X-Amz-SignedHeaders")?.split(separator: ";").map(String.init)
    else { return Refusal(400, "AuthorizationQueryParametersError") }
    // Made by a clock that is ahead, a link is none yet.
    guard time - Self.skew <= now(), now() <= time + lifetime else { return Refusal(403, "AccessDenied") }
    let headers = names.filter { $0 != "host" }.flatMap { name in request.headerValues(name).map { (name, $0) } }
    let wanted = SignatureV4.Request(
      request.method, host: Self.host(request), path: Self.path(request), query: query.filter { !$0.name.hasPrefix("X-Amz-") },
      headers: headers)
    let made = signature.presigned(wanted, lifetime: lifetime, at: time)
    let sent = value("X-Amz-Signature") ?? ""
    return made.hasSuffix("&X-Amz-Signature=\(sent)") && sent.utf8.count == 64 ? nil : Refusal(403, "SignatureDoesNotMatch")
  }

  // MARK: Reading

  private static func host(_ request: HTTPServerRequest) -> String {
    request.authority.isEmpty ? request.header("host") ?? "" : request.authority
  }

  private static func path(_ request: HTTPServerRequest) -> [String] {
    [String(PercentEncoding.decode(Array(request.path.utf8)).dropFirst())]
  }

  static func items(_ query: String) -> [(name: String, value: String)] {
    query.split(separator: "&").map { item in
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map { PercentEncoding.decode(Array($0.utf8)) }
      return (parts[0], parts.count > 1 ? parts[1] : "")
    }
  }

  private static func signedHeaders(_ authorization: String) -> [String]? {
    guard let start = authorization.firstRange(of: "SignedHeaders=") else { return nil }
    return authorization[start.upperBound...].prefix { $0 != "," }.split(separator: ";").map(String.init)
  }

  /// Reads `20260102T030405Z`.
  private static func unixSeconds(_ text: String) -> Int64? {
    let letters = Array(text.utf8)
    guard letters.count == 16 else { return nil }
    func part(_ range: Range<Int>) -> String { String(decoding: letters[range], as: UTF8.self) }
    let date = [part(0..<4), part(4..<6), part(6..<8)].joined(separator: "-")
    let time = [part(9..<11), part(11..<13), part(13..<16)].joined(separator: ":")
    return InternetTime.parse(date + part(8..<9) + time)?.seconds
  }
}
