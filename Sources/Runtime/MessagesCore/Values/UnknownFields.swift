/// Fields that a message carried and its descriptor does not know, kept as they came.
///
/// They are written after the known fields when the message is encoded again. Empty takes one word and no allocation.
public struct UnknownFields: Sendable, Hashable {
  /// Wire-format fields one after the other: tag, value, tag, value.
  public let bytes: [UInt8]

  /// No fields.
  @inlinable public init() { bytes = [] }

  /// Fields in wire format.
  ///
  /// - Parameter bytes: Whole, well-formed fields; they are written as they are.
  @inlinable public init(bytes: [UInt8]) { self.bytes = bytes }

  /// Whether there are none.
  @inlinable public var isEmpty: Bool { bytes.isEmpty }
}
