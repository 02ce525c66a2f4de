/// The parts of the slot layout that every message shares; they are protobuf-c's, on a 64-bit machine.
///
/// A message starts with a 24-byte header (descriptor, number of unknown fields, pointer to them). Text and bytes are a
/// length and a pointer; a repeated field is a count and a pointer to the elements; flags and bools are 4 bytes.
public enum SlotLayout {
  /// The size of the header that every message starts with.
  @inlinable public static var header: Int { 24 }
  /// Where the number of unknown fields lies, a `UInt32`.
  @inlinable public static var unknownCount: Int { 8 }
  /// Where the pointer to the unknown fields lies.
  @inlinable public static var unknownPointer: Int { 16 }
  /// The size of one unknown field: tag, wire type (4 bytes each), length, pointer.
  @inlinable public static var unknownStride: Int { 24 }
  /// The size of text or bytes: length, pointer.
  @inlinable public static var span: Int { 16 }
  /// The number of the field that wraps what protobuf-c cannot hold as unknown: groups, and known fields of another wire type.
  ///
  /// It is out of the range that the language reserves for implementations, so no message declares it. One that comes from
  /// outside is wrapped itself.
  @inlinable public static var wrapper: UInt32 { 19_999 }
}
