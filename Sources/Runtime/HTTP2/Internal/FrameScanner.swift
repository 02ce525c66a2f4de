internal import CNghttp2

/// Finds the frames in what a client sends, before nghttp2 sees them: it says nothing of those that it ignores, and a server must
/// know them (see ``StreamHistory`` and ``Conduct``).
///
/// Reads nine bytes per frame and skips the payload. A frame may be cut anywhere.
struct FrameScanner {
  /// The header of a frame.
  struct Header {
    var length = 0
    var type: UInt8 = 0
    var flags: UInt8 = 0
    var stream: Int32 = 0
  }

  private static let headerBytes = 9
  private static let prefaceBytes = 24

  /// Bytes to come of the preface or of a payload.
  private var skipped = prefaceBytes
  /// A header of which `cutBytes` have come.
  private var cut = Header()
  private var cutBytes = 0
  /// The type of the frame that was seen last, and its flags above that.
  private var kind = UInt16(NGHTTP2_DATA.rawValue)
  /// The stream of that frame.
  private var stream: Int32 = 0
  /// Whether a frame that continues no other began in the bytes that were looked at last.
  private(set) var hasBegun = false

  /// Whether something other than DATA has begun and is not whole: a frame, or a header list whose frames have not all come.
  var isAmidFrame: Bool {
    if cutBytes > 0 { return true }
    return skipped > 0 ? type != NGHTTP2_DATA.rawValue : awaitsContinuation
  }

  /// The type and the stream of a frame whose header was seen while bytes of its payload are still to come: nghttp2 has not acted
  /// upon it yet.
  var unfinished: (type: UInt32, stream: Int32)? { skipped > 0 && cutBytes == 0 ? (type, stream) : nil }

  private var type: UInt32 { UInt32(kind & 0xff) }
  private var isContinuation: Bool { type == NGHTTP2_CONTINUATION.rawValue }
  private var awaitsContinuation: Bool {
    (type == NGHTTP2_HEADERS.rawValue || isContinuation) && UInt32(kind >> 8) & NGHTTP2_FLAG_END_HEADERS.rawValue == 0
  }

  /// The next frame whose header ends in `bytes`; nil when there is none.
  ///
  /// - Parameter offset: Where to go on, 0 at first; afterwards where the header ended.
  @inline(__always)
  mutating func next(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> Header? {
    let rest = bytes.count - offset
    guard rest > skipped else {
      hasBegun = offset > 0 && !isContinuation
      skipped -= rest
      offset = bytes.count
      return nil
    }
    offset += skipped
    skipped = 0
    guard let header = header(bytes, &offset) else { return nil }
    skipped = header.length
    return header
  }

  @inline(__always)
  private mutating func header(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> Header? {
    guard cutBytes == 0, bytes.count - offset >= Self.headerBytes else { return cutHeader(bytes, &offset) }
    let first = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    let stream = Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 5, as: Int32.self))
    let flags = bytes[offset + 4]
    kind = UInt16(flags) << 8 | UInt16(truncatingIfNeeded: first & 0xff)
    offset += Self.headerBytes
    self.stream = stream & .max
    return Header(length: Int(first >> 8), type: UInt8(truncatingIfNeeded: first), flags: flags, stream: stream & .max)
  }

  /// Takes what there is of a header; nil until it is whole.
  private mutating func cutHeader(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> Header? {
    while cutBytes < Self.headerBytes {
      guard offset < bytes.count else {
        hasBegun = cutBytes <= offset && !(cutBytes < 5 ? awaitsContinuation : isContinuation)
        return nil
      }
      switch cutBytes {
      case 0..<3: cut.length = cut.length << 8 | Int(bytes[offset])
      case 3: cut.type = bytes[offset]
      case 4:
        cut.flags = bytes[offset]
        kind = UInt16(cut.flags) << 8 | UInt16(cut.type)
      default: cut.stream = cut.stream << 8 | Int32(bytes[offset])
      }
      cutBytes += 1
      offset += 1
    }
    defer {
      cut = Header()
      cutBytes = 0
    }
    stream = cut.stream & .max
    return Header(length: cut.length, type: cut.type, flags: cut.flags, stream: cut.stream & .max)
  }
}
