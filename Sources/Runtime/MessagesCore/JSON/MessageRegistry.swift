/// What proto3 JSON needs of a wire codec to write and read `google.protobuf.Any`, whose content is in wire format.
public protocol WireCoding: Sendable {
  /// Makes slots of this message packable.
  func prepare(_ descriptor: MessageDescriptor)

  /// The wire format of filled slots, whose message has been prepared.
  func pack(_ slots: SlotWriter) -> [UInt8]

  /// Calls `body` with the slots of a message in wire format.
  func unpack(
    _ bytes: UnsafeRawBufferPointer, as descriptor: MessageDescriptor, _ body: (MessageSlots) throws(EncodeError) -> Void
  ) throws(EncodeError)
}

/// The messages that a `google.protobuf.Any` may hold in JSON, by their full names.
public struct MessageRegistry: Sendable {
  private var descriptors: [String: MessageDescriptor] = [:]
  /// The codec for the content.
  public let wire: any WireCoding

  /// A registry of these messages.
  public init(_ messages: [any Message.Type], wire: any WireCoding) {
    self.wire = wire
    for message in messages { descriptors[message.descriptor.name] = message.descriptor }
  }

  /// The descriptor that a type URL (`type.googleapis.com/package.Message`) names, or nil.
  func descriptor(forURL url: String) -> MessageDescriptor? {
    guard let slash = url.lastIndex(of: "/") else { return nil }
    return descriptors[String(url[url.index(after: slash)...])]
  }
}
