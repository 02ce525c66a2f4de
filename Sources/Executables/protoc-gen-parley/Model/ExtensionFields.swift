import MessagesCore

/// Options of ours, which are extensions and so arrive among the fields that descriptors do not know; and messages in them.
///
/// The bytes are well-formed: they come from the decoder.
struct ExtensionFields {
  private enum Value {
    case number(UInt64)
    case bytes(ArraySlice<UInt8>)
  }

  private var fields: [(number: UInt64, value: Value)] = []

  init(_ fields: UnknownFields?) { self.init(fields?.bytes[...] ?? []) }

  private init(_ content: ArraySlice<UInt8>) {
    var bytes = content
    while !bytes.isEmpty {
      let tag = Self.varint(&bytes)
      switch tag & 7 {
      case 0: fields.append((tag >> 3, .number(Self.varint(&bytes))))
      case 1: bytes = bytes.dropFirst(8)
      case 2:
        let count = Int(truncatingIfNeeded: Self.varint(&bytes) & 0x7fff_ffff)
        fields.append((tag >> 3, .bytes(bytes.prefix(count))))
        bytes = bytes.dropFirst(count)
      case 5: bytes = bytes.dropFirst(4)
      default: return
      }
    }
  }

  /// The last number under this one; 0 if there is none.
  func number(_ number: UInt64) -> UInt64 {
    for field in fields.reversed() where field.number == number { if case .number(let value) = field.value { return value } }
    return 0
  }

  /// The last text under this number; empty if there is none.
  func text(_ number: UInt64) -> String { messageBytes(number).last.map { String(decoding: $0, as: UTF8.self) } ?? "" }

  /// The messages under this number, in order.
  func messages(_ number: UInt64) -> [ExtensionFields] { messageBytes(number).map { ExtensionFields($0) } }

  private func messageBytes(_ number: UInt64) -> [ArraySlice<UInt8>] {
    fields.compactMap { field in
      guard field.number == number, case .bytes(let bytes) = field.value else { return nil }
      return bytes
    }
  }

  private static func varint(_ bytes: inout ArraySlice<UInt8>) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while let byte = bytes.popFirst() {
      value |= UInt64(byte & 0x7f) << shift
      shift += 7
      if byte < 0x80 || shift > 63 { break }
    }
    return value
  }
}
