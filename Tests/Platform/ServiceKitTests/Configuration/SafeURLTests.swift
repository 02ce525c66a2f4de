import ServiceKit
import Testing

@Suite("Addresses that secrets may be sent to")
struct SafeURLTests {
  /// Any: nothing listens there.
  private static let port = UInt16.max

  @Test(
    "https anywhere, and plain http on this machine alone",
    arguments: [
      "https://keys.example", "https://keys.example:\(Self.port)/certs?x=1", "HTTPS://keys.example", "http://127.0.0.1",
      "http://127.0.0.1:1/a",
      "http://localhost:\(Self.port)", "http://LOCALHOST/", "http://[::1]:\(Self.port)/x", "http://[::1]",
      "https://[2001:db8::1]/",
    ])
  func safe(_ url: String) { #expect(SafeURL.isSafe(url)) }

  @Test(
    "A host that only begins as this machine does is not this machine (AF-11)",
    arguments: [
      "http://localhost.evil.example", "http://localhost.evil.example:80/", "http://127.0.0.1.evil.example", "http://127.0.0.12",
      "http://localhostevil.example", "http://[::1].evil.example", "http://[::1]evil", "http://[::12]",
      "http://localhost@evil.example",
      "http://localhost:1@evil.example/", "http://127.0.0.1:99999", "http://localhost:80:80", "http://localhost\\.evil.example",
      "http://localhost\t.evil.example", "http:///localhost", "http://", "https://", "https://:443", "https:///x",
      "ftp://localhost",
      "localhost", "", "http://evil.example/http://localhost", "https://a@b.example", "http://localhost%2eevil.example",
    ])
  func unsafe(_ url: String) { #expect(!SafeURL.isSafe(url)) }
}
