/// A value that a `.proto` file describes.
///
/// Conformances are generated. The two codec members move a value to and from *slots*, a flat struct with the memory
/// layout that protobuf-c expects, so that the wire format and proto3 JSON share one description of every field.
public protocol Message: Sendable, Hashable {
  /// What the `.proto` file says of this message: names, numbers, types and slot offsets.
  static var descriptor: MessageDescriptor { get }

  /// A message with every field at its default.
  init()

  /// Reads the value out of decoded slots.
  ///
  /// - Parameter slots: Slots of exactly this message's descriptor; they are only valid during the call.
  init(slots: MessageSlots)

  /// Writes every field that is set into empty slots of this message's descriptor.
  func fill(_ slots: SlotWriter)

  /// Fields that came over the wire and that the descriptor does not know; they are written back as they came.
  var unknownFields: UnknownFields { get set }
}

/// An enum of a `.proto` file.
///
/// proto3 enums are open: a number without a name decodes to the case `unrecognized` and survives a round trip.
public protocol ProtoEnum: RawRepresentable, Sendable, Hashable where RawValue == Int32 {
  /// The names and numbers of the enum.
  static var descriptor: EnumDescriptor { get }

  /// The case with this number; never fails.
  init(rawValue: Int32)
}
