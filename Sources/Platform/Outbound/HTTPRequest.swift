public import EventLoop

/// A request method (RFC 9110, 9).
public struct HTTPMethod: Sendable, Hashable, CustomStringConvertible {
  /// The method as it is sent.
  public let name: String

  /// A method by its name, in upper case as usual.
  public init(_ name: String) { self.name = name }

  /// Reads.
  public static let get = HTTPMethod("GET")
  /// Reads the headers alone.
  public static let head = HTTPMethod("HEAD")
  /// Acts; not repeated unless the request says that it may be.
  public static let post = HTTPMethod("POST")
  /// Replaces.
  public static let put = HTTPMethod("PUT")
  /// Changes a part; not repeated unless the request says that it may be.
  public static let patch = HTTPMethod("PATCH")
  /// Removes.
  public static let delete = HTTPMethod("DELETE")
  /// Asks what is possible.
  public static let options = HTTPMethod("OPTIONS")

  /// Whether sending it twice has the effect of sending it once (RFC 9110, 9.2.2).
  public var isIdempotent: Bool { ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(name) }

  /// The name.
  public var description: String { name }
}

/// One request and the limits that it alone has. What is nil comes from the client's configuration.
public struct HTTPRequest: Sendable {
  /// What to do with a 3xx response that has a `Location`.
  public enum Redirects: Sendable, Hashable {
    /// It is the response.
    case never
    /// It is followed, to https only, so many times at most; credentials stay behind when the host changes.
    case follow(atMost: Int)
  }

  /// The method; GET unless said otherwise.
  public var method: HTTPMethod
  /// An absolute URL without user or password.
  public var url: String
  /// The fields to send. A `Content-Type` is never invented.
  public var headers: HTTPHeaders
  /// The body, or nil for none.
  public var body: [UInt8]?
  /// A body that is sent piece by piece, in the place of ``body``. Its time limits are the request's, so give it enough.
  public var upload: HTTPUpload?
  /// How long all attempts and the waits between them may take together.
  public var timeout: Duration?
  /// When the caller itself must have answered; the earlier of this and ``timeout`` holds.
  public var deadline: MonotonicInstant?
  /// How long connecting may take, the TLS handshake included.
  public var connectTimeout: Duration?
  /// The largest body that is accepted, in bytes.
  public var maximumResponseSize: Int?
  /// What to do with a redirect.
  public var redirects: Redirects = .never
  /// When to try again.
  public var retry: RetryPolicy?
  /// That this request may be repeated although its method is not idempotent (a query by POST, or one with an idempotency key).
  public var mayBeRepeated = false
  /// That it goes to a peer on this machine's own link that speaks plain HTTP and nothing else (a cloud's metadata server): plain
  /// HTTP is allowed whatever the client's configuration says, and no proxy is used.
  public var isLinkLocal = false

  /// A request; the rest is set on the value.
  public init(_ method: HTTPMethod = .get, _ url: String, headers: HTTPHeaders = [:], body: [UInt8]? = nil) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }

  /// Whether a second attempt does no harm.
  var isRepeatable: Bool { mayBeRepeated || method.isIdempotent }
}
