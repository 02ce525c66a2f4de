public import RPC

/// A request of plain HTTP, whole.
public struct HTTPServerRequest: Sendable {
  /// The method: `GET`.
  public let method: String
  /// The host that was asked for, with the port if it was said; empty when nothing was said. Whoever asks chooses it: for signatures
  /// that cover it, never for links or decisions.
  public let authority: String
  /// The path without the query, as it was sent.
  public let path: String
  /// What follows the question mark, as it was sent; empty without one.
  public let query: String
  /// The header fields in their order, names in lower case.
  public let headers: [(name: String, value: String)]
  /// The body; empty where the route begins at the headers: see ``withBody(of:_:then:)``.
  public let body: [UInt8]
  /// The other end of the connection.
  public let peer: Peer

  /// What brings the body, where it is not in ``body``.
  var source: HTTPServerCall?

  /// Takes a body that is let in now that whoever asks for it has judged the request: large ones wait for each other, as those of calls.
  ///
  /// - Parameters:
  ///   - owner: Who sends it, by any name: nobody has two large ones worked on at once. Nil where nobody knows.
  ///   - read: Makes something of the bytes. They are not kept beyond it.
  ///   - use: Works on that. When it ends, the next large request may come: what still waits for other things belongs behind it.
  /// - Throws: What `read` and `use` throw, or `CancellationError` when nobody waits for the answer any more.
  public func withBody<Value, Result>(
    of owner: String? = nil, _ read: (consuming [UInt8]) async throws -> Value, then use: (consuming Value) async throws -> Result
  ) async throws -> Result {
    guard let source else { return try await use(try await read(body)) }
    defer { source.letGoOfBody() }
    return try await use(try await read(try await source.wholeBody(of: owner)))
  }

  /// What stands in the place of `:name` in the path of the route: the last segment, as it was sent.
  public var lastSegment: String { path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? "" }

  /// The value of the first header field of this name; nil when there is none.
  public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

  /// All values of the header fields of this name, in order.
  public func headerValues(_ name: String) -> [String] { headers.filter { $0.name == name }.map(\.value) }

  /// The value of a query parameter, percent-decoded; nil when it is absent. The first one counts.
  public func queryValue(_ name: String) -> String? {
    let parameters = QueryEncoding.parameters(Array(query.utf8))
    return parameters.first { String(decoding: $0.name, as: UTF8.self) == name }.map { String(decoding: $0.value, as: UTF8.self) }
  }
}

/// A response of plain HTTP: whole, or with a body that is written while it is sent.
public struct HTTPServerResponse: Sendable {
  /// The status code.
  public var status: Int
  /// The header fields; names in lower case. `content-length` is added where the length is known.
  public var headers: [(name: String, value: String)]
  /// The body; empty where it is streamed.
  public var body: [UInt8]
  /// What writes the body while it is sent, where it is not in ``body``; see ``streamed(_:headers:byteCount:_:)``.
  public private(set) var bodyStream: HTTPBodyStream?
  /// Whether the stream is reset instead of answered; see ``dropped``.
  public private(set) var resetsStream = false

  /// No response at all: the stream is reset. For stand-ins that show how a failing peer looks.
  public static var dropped: HTTPServerResponse {
    var response = HTTPServerResponse(500)
    response.resetsStream = true
    return response
  }

  /// A response of bytes.
  public init(_ status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// A response whose body is written piece by piece, no faster than its reader takes it: of each one, the server holds at most
  /// ``HTTP2/HTTP2Limits/streamOutputBytes`` and the piece that is being written.
  ///
  /// The headers leave with the first piece. An error before that is answered with 500 and an incident id; one that comes later, or a
  /// body that is shorter or longer than `byteCount`, resets the stream, so that nobody takes a part for the whole. A HEAD request is
  /// answered with the headers alone, and `write` is not called. `write` runs in the task of the handler, after the handler and all
  /// that is around it have returned: values of task-local variables are gone. The task is cancelled when the reader is.
  ///
  /// - Parameters:
  ///   - status: The status code; one that has a body.
  ///   - headers: The header fields; names in lower case.
  ///   - byteCount: The length of the body, sent as `content-length`; nil where nobody knows it yet.
  ///   - write: Writes the body. Its return ends the response.
  public static func streamed(
    _ status: Int, headers: [(name: String, value: String)] = [], byteCount: Int? = nil, _ write: @escaping HTTPBodyStream.Write
  ) -> HTTPServerResponse {
    var response = HTTPServerResponse(status, headers: headers)
    response.bodyStream = HTTPBodyStream(byteCount: byteCount, write: write)
    return response
  }

  /// A response of text.
  public static func text(_ status: Int, _ text: String, headers: [(name: String, value: String)] = []) -> HTTPServerResponse {
    .init(status, headers: [("content-type", "text/plain; charset=utf-8")] + headers, body: Array(text.utf8))
  }

  /// A response of JSON that is encoded already.
  public static func json(_ status: Int, _ body: [UInt8], headers: [(name: String, value: String)] = []) -> HTTPServerResponse {
    .init(status, headers: [("content-type", "application/json")] + headers, body: body)
  }
}

/// What answers plain HTTP requests for one path, whatever their method.
public struct HTTPRoute: Sendable {
  /// Answers a request; what it throws is answered with 500 and an incident id.
  public typealias Handler = @Sendable (HTTPServerRequest) async throws -> HTTPServerResponse

  /// The exact path; or one that ends in `/:name`, which stands for all paths with one segment in that place.
  public let path: String
  /// The largest body of a request, in bytes; nil for what holds for all routes of the server.
  public let maximumBodyBytes: Int?
  /// What the server answers with where it turns a request for this path away itself; nil for a line of text.
  public let refusing: (@Sendable (HTTPRefusal) -> HTTPServerResponse)?
  /// Whether the handler begins before the body is there, and asks for it when it has judged who sends it.
  public let beginsAtHeaders: Bool
  /// Which large requests its bodies wait for.
  public let room: String
  /// What answers.
  public var handler: Handler

  /// Joins a path with what answers.
  public init(
    _ path: String, maximumBodyBytes: Int? = nil, refusing: (@Sendable (HTTPRefusal) -> HTTPServerResponse)? = nil,
    beginsAtHeaders: Bool = false, room: String = RequestLimit.room, _ handler: @escaping Handler
  ) {
    self.path = path
    self.room = room
    self.beginsAtHeaders = beginsAtHeaders
    self.maximumBodyBytes = maximumBodyBytes
    self.refusing = refusing
    self.handler = handler
  }
}
