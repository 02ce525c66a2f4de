import Blobs
import Testing

@Suite("Addresses of buckets") struct S3ConfigurationTests {
  private func configuration(
    _ endpoint: String = "https://host", bucket: String = "bucket", prefix: String = "",
    addressing: S3Configuration.Addressing = .path
  ) -> S3Configuration? {
    S3Configuration(
      endpoint: endpoint, bucket: bucket, prefix: prefix, addressing: addressing, region: "auto",
      credentials: .init(accessKey: "a", secretKey: "s"))
  }

  @Test(
    "An endpoint is a scheme and a host, without the scheme's own port",
    arguments: [
      ("https://S3.Example.com", "https", "s3.example.com"), ("https://host:443/", "https", "host"),
      ("http://host:80", "http", "host"),
      ("http://127.0.0.1:9000", "http", "127.0.0.1:9000"), ("https://[::1]:9000", "https", "[::1]:9000"),
    ])
  func endpoint(text: String, scheme: String, host: String) {
    let configuration = configuration(text)
    #expect(configuration?.scheme == scheme && configuration?.host == host)
  }

  @Test(
    "What is no endpoint is none",
    arguments: [
      "", "host", "https://", "https:///", "ftp://host", "https://host/path", "https://host?x", "https://user@host",
      "https://a b",
      "https://host:", "https://:9000", "https://h\u{f6}st",
    ])
  func noEndpoint(text: String) { #expect(configuration(text) == nil) }

  @Test("The bucket stands in the host's name where it is asked for so")
  func virtualHost() { #expect(configuration(addressing: .virtualHost)?.host == "bucket.host") }

  @Test("A bucket has 3 to 63 plain characters", arguments: ["", "ab", "a/b", "a b", "a?b", String(repeating: "a", count: 64)])
  func noBucket(bucket: String) {
    #expect(configuration(bucket: bucket) == nil)
    #expect(configuration(bucket: "abc") != nil && configuration(bucket: String(repeating: "a", count: 63)) != nil)
  }

  @Test("A prefix leads nowhere else", arguments: ["/", "/a", "a/", "a//b", "..", "a/../b", "./a", "a b", "a%2fb"])
  func noPrefix(prefix: String) {
    #expect(configuration(prefix: prefix) == nil)
    #expect(configuration(prefix: "a/b-c_d.e") != nil)
  }
}
