import Blobs
import Testing

@Suite("Signature V4") struct SignatureV4Tests {
  private static let host = "0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com"
  /// 2026-01-02T03:04:05Z
  private static let time: Int64 = 1_767_323_045

  private let signature = SignatureV4(
    .init(accessKey: "FAKEACCESSKEY00000001", secretKey: "fakeSecretKeyForUnitTestsOnly0001"), region: "auto")

  @Test("A PUT with names that need encoding and metadata whose names share a beginning is signed as the reference has it")
  func put() {
    let body = Array("hello r2".utf8)
    #expect(SignatureV4.payload(body) == "f18d11218e7814319b7a555383d8eaa42b97ae6ec36594f37f1e256b0a386b12")
    let request = SignatureV4.Request(
      "PUT", host: Self.host, path: ["demo-bucket", "a b/ü+c.txt"],
      headers: [("content-type", "text/plain"), ("x-amz-meta-k", "v"), ("x-amz-meta-k-two", "v2")])
    #expect(SignatureV4.path(request.path) == "/demo-bucket/a%20b/%C3%BC%2Bc.txt")
    let headers = signature.headers(request, payload: SignatureV4.payload(body), at: Self.time)
    #expect(headers.map(\.name) == ["x-amz-content-sha256", "x-amz-date", "authorization"])
    #expect(headers[1].value == "20260102T030405Z")
    #expect(
      headers[2].value
        == "AWS4-HMAC-SHA256 Credential=FAKEACCESSKEY00000001/20260102/auto/s3/aws4_request, "
        + "SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-meta-k;x-amz-meta-k-two, "
        + "Signature=0f0df9db49e00d04113cb3fdba73e2f156bcdd16009efe66fb485c9c2b245209")
  }

  @Test("A link is signed as the reference has it")
  func link() {
    let request = SignatureV4.Request("GET", host: Self.host, path: ["demo-bucket", "k1.bin"])
    let link = signature.presigned(request, lifetime: 900, at: Self.time)
    #expect(
      link.hasPrefix("/demo-bucket/k1.bin?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=FAKEACCESSKEY00000001%2F20260102"))
    #expect(link.hasSuffix("&X-Amz-Signature=7ab20e4f8273244e113f9d9a17497740c8e50434066e2292d73564cdc137ee79"))
  }

  @Test("A query is encoded, then in the order of its bytes, with an equals sign where there is no value")
  func query() {
    #expect(
      SignatureV4.query([("b", "2"), ("a", "x y/z"), ("B", ""), ("a", "+"), ("ü", "~-_.")])
        == "%C3%BC=~-_.&B=&a=%2B&a=x%20y%2Fz&b=2")
  }

  @Test("The token of temporary credentials is sent and signed")
  func temporary() {
    let signature = SignatureV4(.init(accessKey: "A", secretKey: "s", sessionToken: "t"), region: "eu-west-1")
    let headers = signature.headers(
      .init("GET", host: "h", path: ["b", "k"]), payload: SignatureV4.unsignedPayload, at: Self.time)
    #expect(headers.contains { $0 == ("x-amz-security-token", "t") })
    #expect(headers.last?.value.contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,") == true)
  }

  @Test("Credentials do not show their secret")
  func secret() {
    let credentials = SignatureV4.Credentials(accessKey: "name", secretKey: "hidden", sessionToken: "hidden too")
    #expect("\(credentials)" == "Credentials(name)")
  }
}
