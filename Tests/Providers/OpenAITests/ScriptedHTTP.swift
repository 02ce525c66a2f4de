import OpenID
import Outbound
import Synchronization

/// A server by script: the same answer each time, and what it was asked.
final class ScriptedHTTP: HTTPSending {
  private let answer: Result<HTTPResponse, OutboundError>
  private let seen = Mutex<[HTTPRequest]>([])

  init(_ answer: Result<HTTPResponse, OutboundError>) { self.answer = answer }

  convenience init(_ status: Int, _ body: String, headers: HTTPHeaders = [:]) {
    self.init(.success(HTTPResponse(status: status, headers: headers, body: Array(body.utf8))))
  }

  var requests: [HTTPRequest] { seen.withLock { $0 } }

  func send(_ request: HTTPRequest) async throws(OutboundError) -> HTTPResponse {
    seen.withLock { $0.append(request) }
    return try answer.get()
  }
}
