import MessagesCore

/// The pass over the wire bytes that comes before protobuf-c sees them.
///
/// protobuf-c recurses without limit (3 KB of input overflow a 512 KB stack), accepts any bytes as a string, and gives up on a
/// whole message that holds an unknown group. So this checks, without recursion, nesting, lengths, tags, UTF-8 and groups, and
/// says whether the bytes can go as they are or must be rewritten first (``WireNormalizer``).
struct WireScanner: ~Copyable {
  enum Verdict {
    /// protobuf-c reads these bytes as the specification wants.
    case plain
    /// Well-formed, but with something that protobuf-c refuses or merges wrongly.
    case needsNormalizing
  }

  private struct Frame {
    var end: UnsafePointer<UInt8>
    var table: UnsafePointer<ScanTable>
    var seen: UInt64
  }

  private let frames: UnsafeMutablePointer<Frame>

  init() {
    frames = .allocate(capacity: DecodeLimits.maximumDepth + 1)
  }

  deinit {
    frames.deallocate()
  }

  func scan(_ bytes: UnsafeRawBufferPointer, _ root: UnsafePointer<ScanTable>) throws(DecodeError) -> Verdict {
    guard let start = bytes.baseAddress, bytes.count > 0 else { return .plain }
    guard bytes.count <= Int(Int32.max) else { throw DecodeError(.malformed, "message longer than 2 GiB") }
    var at = start.assumingMemoryBound(to: UInt8.self)
    var table = root
    var end = at + bytes.count
    var seen: UInt64 = 0
    var depth = 0
    var verdict = Verdict.plain

    while true {
      while at == end {
        if depth == 0 { return verdict }
        depth -= 1
        (end, table, seen) = (frames[depth].end, frames[depth].table, frames[depth].seen)
      }
      var tag = UInt32(at.pointee)
      if tag < 0x80 { at += 1 } else { tag = try Varint.tag(&at, end) }
      let number = tag >> 3
      let wireType = UInt8(truncatingIfNeeded: tag & 7)
      guard number != 0 else { throw DecodeError(.malformed, "field number 0") }
      let field = table.pointee.field(number)
      let isKnown = field != nil && field.unsafelyUnwrapped.pointee.wireTypes & (1 << wireType) != 0
      if !isKnown && (field != nil || number == SlotLayout.wrapper) { verdict = .needsNormalizing }

      switch wireType {
      case 0: try Varint.skip(&at, end)
      case 1:
        guard end - at >= 8 else { throw DecodeError.truncated }
        at += 8
      case 5:
        guard end - at >= 4 else { throw DecodeError.truncated }
        at += 4
      case 2:
        let length = try Varint.length(&at, end)
        guard isKnown else {
          at += length
          continue
        }
        let known = field.unsafelyUnwrapped
        switch known.pointee.kind {
        case .scalar, .bytes: at += length
        case .text:
          guard UTF8Check.isValid(at, length) else { throw DecodeError(.invalidUTF8, "field \(number) is not UTF-8") }
          at += length
        case .message, .messages:
          guard depth < DecodeLimits.maximumDepth else { throw DecodeError.tooDeep }
          if known.pointee.kind == .message {
            let bit: UInt64 = 1 << UInt64(known.pointee.seenBit)
            if seen & bit != 0 { verdict = .needsNormalizing }
            seen |= bit
          }
          frames[depth] = Frame(end: end, table: table, seen: seen)
          depth += 1
          end = at + length
          table = known.pointee.child.unsafelyUnwrapped
          seen = 0
        }
      case 3:
        verdict = .needsNormalizing
        try Varint.skipGroup(number, &at, end, depth: depth + 1)
      default:
        throw DecodeError(.malformed, wireType == 4 ? "group end without a start" : "wire type \(wireType)")
      }
    }
  }
}

extension DecodeError {
  static let truncated = DecodeError(.malformed, "message ends within a field")
  static let tooDeep = DecodeError(.tooDeep, "messages nested deeper than \(DecodeLimits.maximumDepth)")
}
