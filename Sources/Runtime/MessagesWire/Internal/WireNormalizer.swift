import MessagesCore

/// Rewrites a well-formed message so that protobuf-c reads it as the specification wants.
///
/// - Groups, and known fields with an unexpected wire type, become unknown fields: wrapped into a field that no
///   message has (``SlotLayout/wrapper``) and ``MessageSlots`` unwraps again.
/// - A singular sub-message that comes several times becomes one whose bytes are joined, which is the specification's merge;
///   protobuf-c's own merge loses scalars, and replaces a member of a oneof.
///
/// Runs after the scanner, which has bounded the nesting, so recursion is safe here. It is the rare path: no peer of ours sends
/// any of this.
struct WireNormalizer {
  private typealias Cursor = UnsafePointer<UInt8>
  private typealias Segment = UnsafeBufferPointer<UInt8>

  private var output: [UInt8] = []

  /// The bytes to give to protobuf-c instead; at most about three times as many.
  static func normalize(
    _ bytes: UnsafeRawBufferPointer, _ table: UnsafePointer<ScanTable>
  ) throws(DecodeError) -> [UInt8] {
    var normalizer = WireNormalizer()
    normalizer.output.reserveCapacity(bytes.count + 64)
    try normalizer.write([bytes.bindMemory(to: UInt8.self)], table)
    return normalizer.output
  }

  /// Writes one message that lies in several pieces.
  private mutating func write(_ pieces: [Segment], _ table: UnsafePointer<ScanTable>) throws(DecodeError) {
    let merges = try Merges(pieces, table)
    var progress: [UInt32: (group: Int, member: Int)] = [:]
    for piece in pieces {
      guard var at = piece.baseAddress else { continue }
      let end = at + piece.count
      while at < end {
        let field = try Field(&at, end, table)
        guard let known = field.known else {
          append(field.isWrapped ? .wrapped : .plain, field)
          continue
        }
        let child = known.pointee.child
        switch known.pointee.kind {
        case .scalar, .text, .bytes: append(.plain, field)
        case .messages: try append(field.number, [field.content()], child.unsafelyUnwrapped)
        case .message:
          var (group, member) = progress[field.number] ?? (0, 0)
          let groups = merges.groups[field.number] ?? []
          if member == 0 { try append(field.number, groups[group], child.unsafelyUnwrapped) }
          member += 1
          if member == groups[group].count { (group, member) = (group + 1, 0) }
          progress[field.number] = (group, member)
        }
      }
    }
  }

  private enum Form { case plain, wrapped }

  private mutating func append(_ form: Form, _ field: Field) {
    guard form == .wrapped else { return output.append(contentsOf: field.whole) }
    // The tag is written anew, as protobuf-c does with those it keeps and with the first of those it writes: a tag in more bytes
    // than it needs would else become another one on its way.
    let tag = UInt64(field.tag)
    let value = Segment(rebasing: field.whole[(field.value - field.whole.baseAddress.unsafelyUnwrapped)...])
    appendVarint(UInt64(SlotLayout.wrapper) << 3 | 2)
    appendVarint(UInt64((38 - field.tag.leadingZeroBitCount) / 7 + value.count))
    appendVarint(tag)
    output.append(contentsOf: value)
  }

  private mutating func append(
    _ number: UInt32, _ pieces: [Segment], _ table: UnsafePointer<ScanTable>
  ) throws(DecodeError) {
    appendVarint(UInt64(number) << 3 | 2)
    // A length in five bytes whatever its value, so that it can be filled in once it is known.
    let lengthAt = output.count
    output.append(contentsOf: [0x80, 0x80, 0x80, 0x80, 0])
    try write(pieces, table)
    var length = output.count - lengthAt - 5
    for index in 0..<5 {
      output[lengthAt + index] = UInt8(length & 0x7f) | (index < 4 ? 0x80 : 0)
      length >>= 7
    }
  }

  private mutating func appendVarint(_ value: UInt64) {
    var value = value
    while value >= 0x80 {
      output.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    output.append(UInt8(value))
  }

  /// One field of the input.
  private struct Field {
    let tag: UInt32
    /// Tag and value.
    let whole: Segment
    /// Where the value starts.
    let value: Cursor
    /// The descriptor's field, if the wire type is one that it may have.
    let known: UnsafePointer<ScanField>?
    /// Whether protobuf-c would refuse the field as it is.
    let isWrapped: Bool

    var number: UInt32 { tag >> 3 }

    init(_ at: inout Cursor, _ end: Cursor, _ table: UnsafePointer<ScanTable>) throws(DecodeError) {
      let start = at
      tag = try Varint.tag(&at, end)
      let wireType = UInt8(tag & 7)
      value = at
      let number = tag >> 3
      let field = table.pointee.field(number)
      if wireType == 3 {
        try Varint.skipGroup(number, &at, end, depth: 0)
        known = nil
        isWrapped = true
      } else {
        try Varint.skipValue(wireType, &at, end)
        known = field.flatMap { $0.pointee.wireTypes & (1 << wireType) != 0 ? $0 : nil }
        isWrapped = known == nil && (field != nil || number == SlotLayout.wrapper)
      }
      whole = Segment(start: start, count: at - start)
    }

    /// The content of a length-delimited field.
    func content() throws(DecodeError) -> Segment {
      var at = value
      let end = whole.baseAddress.unsafelyUnwrapped + whole.count
      let count = try Varint.length(&at, end)
      return Segment(start: at, count: count)
    }
  }

  /// The occurrences of each singular sub-message, in groups that merge: a member of a oneof starts anew when another member
  /// came in between.
  private struct Merges {
    var groups: [UInt32: [[Segment]]] = [:]

    init(_ pieces: [Segment], _ table: UnsafePointer<ScanTable>) throws(DecodeError) {
      var lastOfOneof: [UInt32: UInt32] = [:]
      for piece in pieces {
        guard var at = piece.baseAddress else { continue }
        let end = at + piece.count
        while at < end {
          let field = try Field(&at, end, table)
          guard let known = field.known else { continue }
          let oneof = known.pointee.oneof
          let continues = oneof == 0 || lastOfOneof[oneof] == field.number
          if oneof != 0 { lastOfOneof[oneof] = field.number }
          guard known.pointee.kind == .message else { continue }
          let content = try field.content()
          let earlier = groups[field.number]?.count ?? 0
          if earlier > 0, continues {
            groups[field.number]?[earlier - 1].append(content)
          } else {
            groups[field.number, default: []].append([content])
          }
        }
      }
    }
  }
}
