/// A whole response, whatever its status.
public struct HTTPResponse: Sendable {
  /// The version of HTTP that was spoken.
  public enum Version: Sendable, Hashable {
    /// HTTP/1.0 or 1.1.
    case http1
    /// HTTP/2.
    case http2
  }

  /// The status code, 200 to 599.
  public let status: Int
  /// The header fields; trailers are dropped.
  public let headers: HTTPHeaders
  /// The body as it was sent: no content coding is asked for or undone.
  public let body: [UInt8]
  /// What was spoken.
  public let version: Version

  /// A response, as a test's stand-in would give it.
  public init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = [], version: Version = .http1) {
    self.status = status
    self.headers = headers
    self.body = body
    self.version = version
  }

  /// Whether the status is 2xx.
  public var isSuccess: Bool { (200..<300).contains(status) }

  /// The body as text; nil when it is not UTF-8.
  public var text: String? { String(validating: body, as: UTF8.self) }
}
