import Foundation
import RPC

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// Plain HTTP over a URLSession of its own. Redirects are not followed, nothing is stored on disk.
public final class URLSessionExchange: HTTPExchanging {
  /// The longest body that is taken, in bytes.
  public let maximumResponseBytes: Int
  private let session: URLSession
  private let exchanges = ExchangeDelegate()

  /// A session that takes responses of at most 8 MiB unless told otherwise.
  public init(configuration: URLSessionConfiguration = .ephemeral, maximumResponseBytes: Int = 8 << 20) {
    self.maximumResponseBytes = maximumResponseBytes
    session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
  }

  deinit { session.finishTasksAndInvalidate() }

  /// Sends a request and waits for the whole response.
  ///
  /// - Throws: ``RPC/RPCError``: unavailable, too late, cancelled, or a response beyond the limit.
  public func exchange(_ request: OutgoingRequest) async throws -> IncomingResponse {
    guard let url = URL(string: request.url) else { throw RPCError(.invalidArgument, "the address is none") }
    var outgoing = URLRequest(url: url)
    outgoing.httpMethod = request.method
    outgoing.httpBody = request.body.isEmpty ? nil : Data(request.body)
    for (name, value) in request.headers { outgoing.setValue(value, forHTTPHeaderField: name) }
    let exchange = Exchange { [session, exchanges] request, exchange in
      let task = session.dataTask(with: request)
      exchanges.add(exchange, for: task)
      return task
    }
    return try await exchange.guarded(until: .after(request.timeout)) { [outgoing] in
      exchange.begin(outgoing, limit: maximumResponseBytes)
      let head = try await exchange.head()
      var body: [UInt8] = []
      while let bytes = try await exchange.bytes() {
        body += bytes
        guard body.count <= maximumResponseBytes else {
          throw RPCError(.resourceExhausted, "the response is longer than \(maximumResponseBytes) bytes")
        }
      }
      var headers: [String: String] = ["content-type": head.contentType]
      for entry in head.metadata.entries { if case .text(let text) = entry.value { headers[entry.name] = text } }
      return IncomingResponse(status: head.status, headers: headers, body: body)
    }
  }
}
