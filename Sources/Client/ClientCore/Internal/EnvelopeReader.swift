import ConnectWire
import RPC

extension Envelope {
  /// Appends a message in an envelope.
  static func write(_ message: [UInt8], to body: inout [UInt8]) throws(RPCError) {
    guard UInt32(exactly: message.count) != nil else {
      throw RPCError(.resourceExhausted, "a request is longer than 4 GiB")
    }
    body += prefix(flags: 0, count: message.count)
    body += message
  }
}

/// One part of a Connect stream, whole.
struct EnvelopePart {
  let envelope: Envelope
  let content: [UInt8]

  var isCompressed: Bool { envelope.isCompressed }
  /// Whether it is the last, with the end of the call instead of a message.
  var isEnd: Bool { envelope.flags & Envelope.endOfStream != 0 }
}

/// Takes the bytes of a stream as they come and gives its envelopes.
struct EnvelopeReader {
  let maximumBytes: Int
  private var pending: [UInt8] = []
  private var start = 0

  init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

  /// Whether no byte is waiting for more.
  var isEmpty: Bool { start == pending.count }

  mutating func append(_ bytes: [UInt8]) {
    if start > 0 {
      pending.removeSubrange(..<start)
      start = 0
    }
    pending += bytes
  }

  /// The next envelope, or nil until it is whole.
  ///
  /// - Throws: ``RPCError`` as soon as a length beyond the limit is read.
  mutating func next() throws(RPCError) -> EnvelopePart? {
    guard let envelope = pending.withUnsafeBytes({ Envelope.prefix(of: $0, at: start) }) else { return nil }
    guard envelope.count <= maximumBytes else {
      throw RPCError(.resourceExhausted, "a response is longer than \(maximumBytes) bytes")
    }
    guard pending.count - start >= envelope.end else { return nil }
    defer { start += envelope.end }
    return EnvelopePart(envelope: envelope, content: Array(pending[start + Envelope.prefixBytes..<start + envelope.end]))
  }
}
