public import Synchronization

/// What a `.proto` file says of one message, and where its slots lie.
///
/// Built once per message type and never changed. `wireHandle` caches what the wire codec derives from it.
public final class MessageDescriptor: Sendable {
  /// The full name, `package.Message`.
  public let name: String
  /// The size of the slots, in bytes, header included.
  public let slotSize: Int
  /// The fields in ascending order of their numbers.
  public let fields: [FieldDescriptor]
  /// Whether this is the synthetic `{key, value}` message of a map field.
  public let isMapEntry: Bool
  /// The special JSON form of this message, if it has one.
  public let wellKnown: WellKnownForm?
  /// The address of the wire codec's own descriptor; zero until the wire codec has seen this message.
  ///
  /// It belongs to the wire codec; it is stored here so that the hot path needs no look-up.
  public let wireHandle = Atomic<UInt>(0)

  /// Describes a message.
  ///
  /// - Parameters:
  ///   - name: The full name, `package.Message`.
  ///   - slotSize: The size of the slots in bytes.
  ///   - fields: The fields in ascending order of their numbers.
  ///   - isMapEntry: Whether this is the synthetic entry of a map field.
  public init(_ name: String, slotSize: Int, fields: [FieldDescriptor], isMapEntry: Bool = false) {
    self.name = name
    self.slotSize = slotSize
    self.fields = fields
    self.isMapEntry = isMapEntry
    self.wellKnown = WellKnownForm(messageName: name)
  }
}

extension MessageDescriptor {
  /// The value of `wireHandle`, for use once the wire codec has published it to this thread.
  @inlinable public var wireAddress: UInt { wireHandle.load(ordering: .relaxed) }

  /// The field with this number, or nil.
  public func field(number: Int32) -> FieldDescriptor? {
    fields.first { $0.number == number }
  }
}
