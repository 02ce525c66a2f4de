import RPC

/// One part of a Connect stream: a byte of flags, a length in four bytes, big-endian, and that many bytes.
struct Envelope {
  let flags: UInt8
  let content: [UInt8]

  var isCompressed: Bool { flags & 1 != 0 }
  /// Whether it is the last, with the end of the call instead of a message.
  var isEnd: Bool { flags & 2 != 0 }

  /// Appends a message in an envelope.
  static func write(_ message: [UInt8], to body: inout [UInt8]) throws(RPCError) {
    guard let count = UInt32(exactly: message.count) else {
      throw RPCError(.resourceExhausted, "a request is longer than 4 GiB")
    }
    body.append(0)
    for shift in [24, 16, 8, 0] as [UInt32] { body.append(UInt8(truncatingIfNeeded: count >> shift)) }
    body += message
  }
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
  mutating func next() throws(RPCError) -> Envelope? {
    let left = pending.count - start
    guard left >= 5 else { return nil }
    let count = pending[start + 1..<start + 5].reduce(0) { $0 << 8 | Int($1) }
    guard count <= maximumBytes else {
      throw RPCError(.resourceExhausted, "a response is longer than \(maximumBytes) bytes")
    }
    guard left >= 5 + count else { return nil }
    defer { start += 5 + count }
    return Envelope(flags: pending[start], content: Array(pending[start + 5..<start + 5 + count]))
  }
}
