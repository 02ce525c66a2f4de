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
    parameters = query.split(separator: UInt8(ascii: "&")).map { pair in
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      return (Self.unescaped(parts[0]), parts.count > 1 ? Self.unescaped(parts[1]) : [])
    }
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

  /// Undoes percent-encoding; a plus is a blank. What is no escape stays as it is.
  private static func unescaped(_ text: Slice<UnsafeRawBufferPointer>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var index = text.startIndex
    while index < text.endIndex {
      if text[index] == UInt8(ascii: "%"), index + 2 < text.endIndex, let high = digit(text[index + 1]),
        let low = digit(text[index + 2])
      {
        bytes.append(high << 4 | low)
        index += 3
      } else {
        bytes.append(text[index] == UInt8(ascii: "+") ? 0x20 : text[index])
        index += 1
      }
    }
    return bytes
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }
}
