import JSON
import JudgeAPI
import MessagesCore
import MessagesWire
import RPCClient
import TestAPI
import WellKnown

/// The JSON codec: the first byte chooses what the rest, a text, is read as.
final class JSONTarget: FuzzTarget {
  private static let checks: [@Sendable (UnsafeRawBufferPointer) -> Void] = [
    document, serviceConfig,
    { message(Everything.self, $0) },
    { message(ProtobufTestMessagesProto3.TestAllTypesProto3.self, $0) },
    { message(Tree.self, $0) },
    { message(GoogleProtobuf.Struct.self, $0) },
    { message(GoogleProtobuf.Value.self, $0) },
    { message(GoogleProtobuf.ListValue.self, $0) },
    { message(GoogleProtobuf.AnyMessage.self, $0) },
    { message(GoogleProtobuf.Timestamp.self, $0) },
    { message(GoogleProtobuf.Duration.self, $0) },
    { message(GoogleProtobuf.FieldMask.self, $0) },
    { message(GoogleProtobuf.Empty.self, $0) },
    { message(GoogleProtobuf.DoubleValue.self, $0) },
    { message(GoogleProtobuf.FloatValue.self, $0) },
    { message(GoogleProtobuf.Int64Value.self, $0) },
    { message(GoogleProtobuf.UInt64Value.self, $0) },
    { message(GoogleProtobuf.Int32Value.self, $0) },
    { message(GoogleProtobuf.UInt32Value.self, $0) },
    { message(GoogleProtobuf.BoolValue.self, $0) },
    { message(GoogleProtobuf.StringValue.self, $0) },
    { message(GoogleProtobuf.BytesValue.self, $0) },
    { message(GoogleProtobuf.FileDescriptorProto.self, $0) },
    { message(GoogleRPC.Status.self, $0) },
  ]

  func run(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    Self.checks[Int(choice) % Self.checks.count](input.from(1))
  }

  /// A text that is read is written, and read again the same.
  private static func document(_ bytes: UnsafeRawBufferPointer) {
    let strict = try? JSONParser.parse(bytes)
    let lenient = try? JSONParser.parse(
      bytes, options: .init(maximumDepth: 512, duplicateNames: .lastWins, maximumByteCount: bytes.count))
    require(strict == nil || strict == lenient, "what strict rules accept, lenient ones read otherwise")
    guard let value = lenient else { return }
    let written = value.encoded()
    let again = expect("JSON that was read and written is no JSON") {
      try JSONParser.parse(written, options: .init(maximumDepth: 512))
    }
    require(again == value && again.hashValue == value.hashValue, "JSON changes when it is written and read: \(value)")
    if let number = value.number { check(number) }
    _ = value["a"]
  }

  private static func check(_ number: JSONNumber) {
    if let whole = number.int64 {
      require(JSONNumber(whole).int64 == whole, "the number \(whole) is not what it was")
    }
  }

  private static func serviceConfig(_ bytes: UnsafeRawBufferPointer) {
    _ = try? ServiceConfig(json: String(decoding: bytes, as: UTF8.self))
  }

  private static func message<M: Message>(_ type: M.Type, _ bytes: UnsafeRawBufferPointer) {
    let text = bytes.array
    let strict = try? M(json: text, options: JSONDecodingOptions(registry: MessageJSON.registry))
    let lenient = try? M(json: text, options: JSONDecodingOptions(ignoresUnknownFields: true, registry: MessageJSON.registry))
    require(strict == nil || lenient != nil, "what is read with unknown fields refused is not read with them ignored")
    guard let message = lenient else { return }
    if let strict, strict == strict { require(message == strict, "ignoring unknown fields changes a message that has none") }
    MessageJSON.check(message)
    let wire = expect("a message read from JSON has no wire format") { try message.protobufBytes() }
    let decoded = expect("a message read from JSON does not come back from the wire") { try M(protobuf: wire) }
    if message == message { require(decoded == message, "\(M.descriptor.name) from JSON changes on the wire") }
  }
}
