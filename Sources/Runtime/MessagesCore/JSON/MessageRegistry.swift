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
  private let find: @Sendable (String) -> MessageDescriptor?
  /// The codec for the content.
  public let wire: any WireCoding

  /// A registry of these messages.
  public init(_ messages: [any Message.Type], wire: any WireCoding) {
    let descriptors = Dictionary(messages.map { ($0.descriptor.name, $0.descriptor) }) { first, _ in first }
    self.init(wire: wire) { descriptors[$0] }
  }

  /// A registry that asks for each message.
  ///
  /// - Parameters:
  ///   - wire: The codec for the content.
  ///   - find: The descriptor of a full name, or nil.
  public init(wire: any WireCoding, find: @escaping @Sendable (String) -> MessageDescriptor?) {
    self.wire = wire
    self.find = find
  }

  /// The descriptor that a type URL (`type.googleapis.com/package.Message`) names, or nil.
  func descriptor(forURL url: String) -> MessageDescriptor? {
    guard let slash = url.lastIndex(of: "/") else { return nil }
    return find(String(url[url.index(after: slash)...]))
  }
}
