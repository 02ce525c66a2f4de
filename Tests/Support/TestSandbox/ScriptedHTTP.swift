public import OpenID
public import Outbound
internal import Synchronization

/// A server by script: the same answer each time, and what it was asked.
public final class ScriptedHTTP: HTTPSending {
  private let answer: Result<HTTPResponse, OutboundError>
  private let seen = Mutex<[HTTPRequest]>([])

  /// A server that answers this.
  public init(_ answer: Result<HTTPResponse, OutboundError>) { self.answer = answer }

  /// A server that answers this text.
  public convenience init(_ status: Int, _ body: String, headers: HTTPHeaders = [:]) {
    self.init(.success(HTTPResponse(status: status, headers: headers, body: Array(body.utf8))))
  }

  /// What it was asked.
  public var requests: [HTTPRequest] { seen.withLock { $0 } }

  /// Takes note of a request, and answers.
  public func send(_ request: HTTPRequest) async throws(OutboundError) -> HTTPResponse {
    seen.withLock { $0.append(request) }
    return try answer.get()
  }
}
