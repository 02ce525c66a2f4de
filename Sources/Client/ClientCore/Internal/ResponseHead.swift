import ConnectWire
import Foundation
import JSON
import RPC

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An HTTP status that came without an error of the protocol: somebody between here and the server answered.
struct AnsweredStatus: Error {
  let status: Int
  let body: [UInt8]

  /// The beginning of the body, as text.
  var text: String { String(decoding: body.prefix(1000), as: UTF8.self) }
}

/// Status and headers of a response.
struct ResponseHead: Sendable {
  let status: Int
  /// The type of the body without its parameters, in lower case.
  let contentType: String
  /// Whether the body was compressed on its way; URLSession has restored it.
  let wasCompressed: Bool
  /// The headers that belong to the call's users.
  let metadata: Metadata
  /// What unary responses carry in headers with a prefix of their own.
  let trailers: Metadata

  init(status: Int, headers: [(name: String, value: String)]) {
    self.status = status
    var contentType = ""
    var encoding = "identity"
    var metadata = Metadata()
    var trailers = Metadata()
    for (name, value) in headers.map({ ($0.name.lowercased(), $0.value) }).sorted(by: { $0.0 < $1.0 }) {
      if name == "content-type" { contentType = value.prefix { $0 != ";" }.lowercased().filter { $0 != " " } }
      if name == "content-encoding" { encoding = value.lowercased() }
      if name.hasPrefix(ConnectHeaders.trailerPrefix) {
        Self.append(String(name.dropFirst(ConnectHeaders.trailerPrefix.count)), value, to: &trailers)
      } else if !ConnectRequest.isReserved(name) {
        Self.append(name, value, to: &metadata)
      }
    }
    self.contentType = contentType
    self.metadata = metadata
    self.trailers = trailers
    wasCompressed = encoding != "identity"
  }

  init(_ response: URLResponse) {
    let http = response as? HTTPURLResponse
    var headers: [(String, String)] = []
    for (name, value) in http?.allHeaderFields ?? [:] {
      if let name = name as? String, let value = value as? String { headers.append((name, value)) }
    }
    self.init(status: http?.statusCode ?? 0, headers: headers)
  }

  /// URLSession joins the values of one name with commas. Base64 has none, so binary values come apart again; text stays joined.
  private static func append(_ name: String, _ value: String, to metadata: inout Metadata) {
    guard Metadata.isValidName(name) else { return }
    let values = name.hasSuffix("-bin") ? value.split(separator: ",").map { $0.filter { $0 != " " } } : [value]
    for value in values where Metadata.isValidText(value) {
      if let entry = Metadata.Entry(header: name, value) { metadata.append(entry) }
    }
  }

  /// The error that the response stands for, with its headers and trailers as metadata.
  func error(body: [UInt8]) -> RPCError {
    let fallback = ConnectCode.code(httpStatus: status)
    var error = RPCError(
      fallback, "the server answered with the HTTP status \(status)", cause: AnsweredStatus(status: status, body: body))
    if contentType == "application/json", let json = try? JSONParser.parse(body), json["code"] != nil,
      let read = ConnectError.read(json, fallback: fallback)
    {
      error = read
    }
    error.metadata.append(contentsOf: metadata)
    error.metadata.append(contentsOf: trailers)
    return error
  }

  /// Refuses a response that is not of the protocol.
  func check(contentType expected: String) throws(RPCError) {
    guard contentType == expected else {
      throw RPCError(.unknown, "the server answered with the content type '\(contentType.prefix(100))'")
    }
  }
}
