/// Who sends plain HTTP requests: ``URLSessionExchange``, or an app's own client.
public protocol HTTPExchanging: Sendable {
  /// Sends a request and waits for the whole response. A redirect is an answer, not followed: it would carry the token elsewhere.
  ///
  /// - Throws: When there is no response.
  func exchange(_ request: OutgoingRequest) async throws -> IncomingResponse
}

/// A request to a web service.
public struct OutgoingRequest: Sendable, Hashable {
  /// The verb: `POST`.
  public var method: String
  /// The whole address.
  public var url: String
  /// The headers, each name once.
  public var headers: [String: String]
  /// The body.
  public var body: [UInt8]
  /// How long the whole exchange may take.
  public var timeout: Duration

  /// A request.
  public init(
    _ method: String, _ url: String, headers: [String: String] = [:], body: [UInt8] = [], timeout: Duration = .seconds(30)
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeout = timeout
  }
}

/// The response of a web service.
public struct IncomingResponse: Sendable, Hashable {
  /// The HTTP status.
  public var status: Int
  /// The headers, names in lower case.
  public var headers: [String: String]
  /// The body.
  public var body: [UInt8]

  /// A response.
  public init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}
