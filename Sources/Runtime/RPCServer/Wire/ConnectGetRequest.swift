package import RPC
package import RPCWire

/// A unary call that came by GET: everything that a POST has in its headers and body is in the query.
package struct ConnectGetRequest {
  /// The query as it was sent.
  package let query: String
  /// How the message is written; nil when the query names no codec that is spoken here.
  package let codec: MessageCodec?
  private let parameters: [(name: [UInt8], value: [UInt8])]

  /// Takes a query apart.
  package init(query: UnsafeRawBufferPointer) {
    self.query = String(decoding: query, as: UTF8.self)
    parameters = QueryEncoding.parameters(query)
    codec = Self.value("encoding", parameters).flatMap { MessageCodec(named: $0) }
  }

  /// The compression that the message is in.
  package func compression() throws(RPCError) -> MessageCompression {
    guard let name = Self.value("compression", parameters), !name.isEmpty else { return .identity }
    guard let compression = MessageCompression(named: name) else {
      throw .unsupportedEncoding(String(decoding: name, as: UTF8.self))
    }
    return compression
  }

  /// The message as it would be in a body.
  package func message() throws(RPCError) -> [UInt8] {
    if let version = Self.value("connect", parameters), !version.elementsEqual("v1".utf8) {
      throw RPCError(.invalidArgument, "the version of the Connect protocol must be v1")
    }
    guard let message = Self.value("message", parameters) else {
      throw RPCError(.invalidArgument, "the query has no message")
    }
    guard let isBase64 = Self.value("base64", parameters), isBase64.elementsEqual("1".utf8) else { return message }
    let standard = message.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "+") : $0 == UInt8(ascii: "_") ? UInt8(ascii: "/") : $0 }
    guard let bytes = MetadataBase64.decode(standard) else {
      throw RPCError(.invalidArgument, "the message in the query is not base64")
    }
    return bytes
  }

  /// The first value of a parameter; which one comes where, and what else there is, does not matter.
  private static func value(_ name: String, _ parameters: [(name: [UInt8], value: [UInt8])]) -> [UInt8]? {
    parameters.first { $0.name.elementsEqual(name.utf8) }?.value
  }
}
