import JSON
import JudgeAPI
import MessagesCore
import MessagesWire
import TestAPI
import WellKnown

/// What must hold of a message in proto3 JSON, wherever it came from.
enum MessageJSON {
  /// What an `Any` may hold here; itself among it, which nests.
  static let registry = MessageRegistry(
    [
      GoogleProtobuf.AnyMessage.self, GoogleProtobuf.Duration.self, GoogleProtobuf.Timestamp.self, GoogleProtobuf.Struct.self,
      GoogleProtobuf.Value.self, GoogleProtobuf.FieldMask.self, GoogleProtobuf.Int64Value.self, GoogleProtobuf.Empty.self,
      GoogleRPC.ErrorInfo.self, Tree.self, Everything.self, ProtobufTestMessagesProto3.TestAllTypesProto3.self,
    ], wire: WireFormat())

  /// A message that has a JSON form is read from it, and written the same again.
  static func check<M: Message>(_ message: M) {
    for options in [
      JSONEncodingOptions(registry: registry),
      JSONEncodingOptions(writesDefaults: true, usesProtoNames: true, isPretty: true, registry: registry),
    ] {
      guard let text = try? message.jsonBytes(options: options) else { continue }
      // A level of messages is up to two of JSON: the message, and the list or the map that it stands in.
      let document = expect("the JSON of \(M.descriptor.name) is no JSON") {
        try JSONParser.parse(text, options: .init(maximumDepth: JSONParser.Options.depthCeiling))
      }
      guard !isBeyondBudget(text) else { continue }
      let read = expect("the JSON of \(M.descriptor.name) is not read: \(String(decoding: text.prefix(2_000), as: UTF8.self))") {
        try M(json: text, options: JSONDecodingOptions(registry: registry))
      }
      let again = expect("a message read from JSON has no JSON form") { try read.jsonBytes(options: options) }
      let second = expect("JSON written again is no JSON") {
        try JSONParser.parse(again, options: .init(maximumDepth: JSONParser.Options.depthCeiling))
      }
      require(
        second.inOrder == document.inOrder,
        "\(M.descriptor.name) changes on its way through JSON:\n\(document)\n\(second)")
    }
  }

  /// Whether reading a text may end at its budget: it takes more memory than 32 bytes for each of its own.
  private static func isBeyondBudget(_ text: [UInt8]) -> Bool { text.count > 1 << 20 }
}

extension JSONValue {
  /// The same value with the members of its objects in the order of their names: maps have none.
  var inOrder: JSONValue {
    switch self {
    case .array(let elements): .array(elements.map(\.inOrder))
    case .object(let object):
      .object(
        JSONObject(
          object.members.map { ($0.name, $0.value.inOrder) }.sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }))
    default: self
    }
  }
}
