import MessagesCore

/// Reading and skipping the parts of the wire format, with bounds checks.
enum Varint {
  typealias Cursor = UnsafePointer<UInt8>

  @inline(__always)
  static func skip(_ at: inout Cursor, _ end: Cursor) throws(DecodeError) {
    let limit = min(end - at, 10)
    var index = 0
    while index < limit {
      index += 1
      if at[index - 1] < 0x80 {
        at += index
        return
      }
    }
    throw limit == 10 ? DecodeError(.malformed, "varint longer than 10 bytes") : .truncated
  }

  /// A tag: a varint of at most 5 bytes and 32 bits.
  static func tag(_ at: inout Cursor, _ end: Cursor) throws(DecodeError) -> UInt32 {
    let value = try short(&at, end)
    guard value <= UInt64(UInt32.max) else { throw DecodeError(.malformed, "tag of more than 32 bits") }
    return UInt32(value)
  }

  /// A length that lies within what is left.
  @inline(__always)
  static func length(_ at: inout Cursor, _ end: Cursor) throws(DecodeError) -> Int {
    guard at < end else { throw .truncated }
    var length = Int(at.pointee)
    if length < 0x80 { at += 1 } else { length = Int(try short(&at, end)) }
    guard length <= end - at else { throw DecodeError(.malformed, "length past the end of the message") }
    return length
  }

  private static func short(_ at: inout Cursor, _ end: Cursor) throws(DecodeError) -> UInt64 {
    var value: UInt64 = 0
    for index in 0..<min(end - at, 5) {
      let byte = at[index]
      value |= UInt64(byte & 0x7f) << UInt64(7 * index)
      if byte < 0x80 {
        at += index + 1
        return value
      }
    }
    throw end - at >= 5 ? DecodeError(.malformed, "tag or length longer than 5 bytes") : .truncated
  }

  /// Skips a group up to and with its end tag, however deep its own groups are (up to the limit).
  ///
  /// - Parameters:
  ///   - number: The field number of the group, whose start tag has been read.
  ///   - depth: The nesting of the group.
  static func skipGroup(_ number: UInt32, _ at: inout Cursor, _ end: Cursor, depth: Int) throws(DecodeError) {
    var open = [number]
    while let innermost = open.last {
      guard depth + open.count - 1 <= DecodeLimits.maximumDepth else { throw .tooDeep }
      guard at < end else { throw .truncated }
      let tag = try tag(&at, end)
      guard tag >> 3 != 0 else { throw DecodeError(.malformed, "field number 0") }
      switch tag & 7 {
      case 3: open.append(tag >> 3)
      case 4:
        guard tag >> 3 == innermost else { throw DecodeError(.malformed, "group end does not match its start") }
        open.removeLast()
      default: try skipValue(UInt8(tag & 7), &at, end)
      }
    }
  }

  /// Skips a value that is not a group.
  static func skipValue(_ wireType: UInt8, _ at: inout Cursor, _ end: Cursor) throws(DecodeError) {
    switch wireType {
    case 0: try skip(&at, end)
    case 1:
      guard end - at >= 8 else { throw .truncated }
      at += 8
    case 2: at += try length(&at, end)
    case 5:
      guard end - at >= 4 else { throw .truncated }
      at += 4
    default: throw DecodeError(.malformed, "wire type \(wireType)")
    }
  }
}

/// UTF-8 validation that is quick on ASCII.
enum UTF8Check {
  @inline(__always)
  static func isValid(_ at: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    let raw = UnsafeRawPointer(at)
    var index = 0
    while index + 8 <= count {
      if raw.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 != 0 {
        return isValidSlowly(at, count)
      }
      index += 8
    }
    while index < count {
      if at[index] >= 0x80 { return isValidSlowly(at, count) }
      index += 1
    }
    return true
  }

  private static func isValidSlowly(_ at: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    let bytes = UnsafeBufferPointer(start: at, count: count)
    do {
      _ = try UTF8Span(validating: bytes.span)
      return true
    } catch {
      return false
    }
  }
}
