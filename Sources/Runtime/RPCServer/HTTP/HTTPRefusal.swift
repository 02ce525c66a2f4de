/// Why the server itself turns a plain HTTP request away, before or beside its handler.
public struct HTTPRefusal: Sendable {
  /// The status.
  public let status: Int
  /// The reason, for programs: `REQUEST_TOO_LARGE`.
  public let reason: String
  /// The same for people, one line.
  public let text: String
  /// Header fields that belong to it.
  public let headers: [(name: String, value: String)]

  private init(_ status: Int, _ reason: String, _ text: String, _ headers: [(name: String, value: String)] = []) {
    self.status = status
    self.reason = reason
    self.text = text
    self.headers = headers
  }

  /// 404: nothing is registered for the path.
  static let noSuchPath = HTTPRefusal(404, "PATH_NOT_FOUND", "not found")
  /// 408: a large body that does not come.
  static let bodyTooSlow = HTTPRefusal(408, "REQUEST_TOO_SLOW", "the body takes too long")
  /// 413: a larger body than the route takes.
  static let bodyTooLarge = HTTPRefusal(413, "REQUEST_TOO_LARGE", "content too large")
  /// 429: a client that does too much that is of no use.
  static let unwelcome = HTTPRefusal(429, "RATE_LIMITED", "too many requests of no use", [("retry-after", "1")])
  /// 431: more header fields than are kept.
  static let headersTooLarge = HTTPRefusal(431, "HEADERS_TOO_LARGE", "request header fields too large")
  /// 503: more is running, or waits, than may.
  static let overloaded = HTTPRefusal(503, "OVERLOADED", "too many requests are running", [("retry-after", "1")])

  /// 405, for an RPC's path that another method asks for than its own.
  static func wrongMethod(allowed: String) -> HTTPRefusal {
    HTTPRefusal(405, "METHOD_NOT_ALLOWED", "method not allowed", [("allow", allowed)])
  }

  /// 415, for an RPC's path and a content type that is none of a call.
  static func unsupportedMediaType(accepted: String?) -> HTTPRefusal {
    HTTPRefusal(415, "UNSUPPORTED_MEDIA_TYPE", "unsupported media type", accepted.map { [("accept-post", $0)] } ?? [])
  }

  /// The response: what the route makes of it, else a line of text. A page of `origin` can read it, where it may call at all.
  func response(_ route: HTTPRoute?, to origin: String?, _ cors: CORSPolicy?) -> HTTPServerResponse {
    var response = route?.refusing?(self) ?? .text(status, text + "\n", headers: headers)
    if origin != nil { response.headers += cors?.answerFields(for: origin) ?? [] }
    return response
  }
}
