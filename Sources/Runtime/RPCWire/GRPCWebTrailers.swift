package import Buffers
internal import ConnectWire
package import HTTP2

/// The last envelope of a gRPC-Web response: what gRPC sends as HTTP trailers, as lines of text.
package enum GRPCWebTrailers {
  /// Appends the envelope of these trailers to a response.
  package static func append(_ trailers: HeaderList, to buffer: ByteBuffer) {
    let start = buffer.count
    buffer.append(contentsOf: Envelope.prefix(flags: Envelope.trailers, count: 0))
    trailers.forEach { name, value in
      buffer.append(name)
      buffer.append(contentsOf: ": ".utf8)
      buffer.append(value)
      buffer.append(contentsOf: "\r\n".utf8)
    }
    buffer.overwrite(bigEndian: UInt32(buffer.count - start - Envelope.prefixBytes), at: start + 1)
  }

  /// Reads the content of such an envelope: the fields in their order, names in lower case. The blank behind the colon may be
  /// missing, as may the last line's end.
  ///
  /// - Returns: nil when a line has no colon.
  package static func fields(_ block: some Collection<UInt8>) -> [(name: String, value: String)]? {
    var fields: [(name: String, value: String)] = []
    for line in Array(block).split(separator: UInt8(ascii: "\n")) {
      let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      guard !line.isEmpty else { continue }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      let value = line[line.index(after: colon)...].drop { $0 == 0x20 }
      fields.append((String(decoding: line[..<colon], as: UTF8.self).lowercased(), String(decoding: value, as: UTF8.self)))
    }
    return fields
  }
}
