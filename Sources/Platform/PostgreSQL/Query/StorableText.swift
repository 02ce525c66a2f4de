internal import Glibc

extension SQLType {
  /// Whether a parameter of this type, encoded in `bytes` from `start` on, is or contains a text with U+0000.
  ///
  /// In UTF-8 that character is the one byte 0, and no other has that byte. What is binary may hold it anywhere.
  func holdsNUL(_ bytes: ContiguousArray<UInt8>, from start: Int) -> Bool {
    switch self {
    case .text, .varchar, .bpchar, .name, .unknown, .inet, .json, .jsonb:
      return bytes.withUnsafeBytes { Self.holdsNUL(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    case .textArray: return bytes.withUnsafeBytes { Self.elementHoldsNUL(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    default: return false
    }
  }

  private static func holdsNUL(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false
  }

  /// The elements follow a head of 20 bytes, each behind its length: see ``SQLArrayElement/encode(_:into:)``.
  private static func elementHoldsNUL(_ array: UnsafeRawBufferPointer) -> Bool {
    var offset = 20
    while offset + 4 <= array.count {
      let length = Int(Int32(bigEndian: array.loadUnaligned(fromByteOffset: offset, as: Int32.self)))
      offset += 4
      if length > 0 {
        if holdsNUL(UnsafeRawBufferPointer(rebasing: array[offset..<offset + length])) { return true }
        offset += length
      }
    }
    return false
  }
}
