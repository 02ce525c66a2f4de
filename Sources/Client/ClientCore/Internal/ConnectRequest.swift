import ConnectWire
import Foundation
import RPC

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The HTTP request of a call, as the Connect protocol writes it.
struct ConnectRequest {
  let baseURL: URL
  let method: MethodInfo
  let metadata: Metadata
  let deadline: Deadline?

  /// A unary call by POST: the body is the message.
  func unary(_ message: [UInt8]) throws(RPCError) -> URLRequest {
    var request = try post(contentType: "application/json", message)
    request.setValue(ConnectHeaders.version, forHTTPHeaderField: ConnectHeaders.protocolVersion)
    return request
  }

  /// A unary call by GET: the message is in the address. Nil when the address would be longer than `limit` bytes.
  func get(_ message: [UInt8], limit: Int) throws(RPCError) -> URLRequest? {
    let query = "?connect=v1&encoding=json&message=" + QueryEncoding.encode(message)
    guard address.utf8.count + query.utf8.count <= limit else { return nil }
    return try request("GET", address + query)
  }

  /// A call with streams: the body is envelopes.
  func stream(_ envelopes: [UInt8]) throws(RPCError) -> URLRequest {
    var request = try post(contentType: "application/connect+json", envelopes)
    request.setValue(ConnectHeaders.version, forHTTPHeaderField: ConnectHeaders.protocolVersion)
    return request
  }

  private var address: String {
    let base = baseURL.absoluteString
    return (base.hasSuffix("/") ? String(base.dropLast()) : base) + method.path
  }

  private func post(contentType: String, _ body: [UInt8]) throws(RPCError) -> URLRequest {
    var request = try request("POST", address)
    request.setValue(contentType, forHTTPHeaderField: "content-type")
    request.httpBody = Data(body)
    return request
  }

  private func request(_ verb: String, _ address: String) throws(RPCError) -> URLRequest {
    guard let url = URL(string: address), let scheme = url.scheme, scheme == "https" || scheme == "http" else {
      throw RPCError(.internal, "the channel's base URL is not one of http or https")
    }
    var request = URLRequest(url: url)
    request.httpMethod = verb
    if let deadline {
      let left = deadline.timeLeft
      guard left > .zero else { throw RPCError(.deadlineExceeded, "the deadline had passed before the call began") }
      request.setValue(ConnectHeaders.encodeTimeout(left), forHTTPHeaderField: ConnectHeaders.timeout)
      // URLSession's own clock must not be the first to ring.
      request.timeoutInterval = Double(left.components.seconds) + 5
    } else if method.kind != .unary {
      // A stream may well be silent for longer than the minute that URLSession waits for bytes.
      request.timeoutInterval = 86_400
    }
    for entry in metadata.entries where !Self.isReserved(entry.name) {
      switch entry.value {
      case .text(let text): request.addValue(text, forHTTPHeaderField: entry.name)
      case .binary(let bytes): request.addValue(MetadataBase64.encode(bytes), forHTTPHeaderField: entry.name)
      }
    }
    return request
  }

  /// Whether a header belongs to HTTP or to the protocol, so that it is no metadata.
  static func isReserved(_ name: String) -> Bool {
    name.hasPrefix(":") || ReservedHeaders.contains(name) || ofHTTP.contains(name)
  }

  /// What belongs to one connection, or is URLSession's to say.
  private static let ofHTTP: Set<String> = [
    "accept", "connection", "date", "expect", "host", "keep-alive", "proxy-connection", "trailer", "transfer-encoding", "upgrade",
  ]
}
