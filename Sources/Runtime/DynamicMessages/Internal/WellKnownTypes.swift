import MessagesCore
import WellKnown

/// The messages whose JSON form is not an object of their fields, as they are compiled in.
enum WellKnownTypes {
  static let messages: [String: MessageDescriptor] = {
    let types: [any Message.Type] = [
      GoogleProtobuf.AnyMessage.self, GoogleProtobuf.Timestamp.self, GoogleProtobuf.Duration.self, GoogleProtobuf.FieldMask.self,
      GoogleProtobuf.Struct.self, GoogleProtobuf.Value.self, GoogleProtobuf.ListValue.self, GoogleProtobuf.BoolValue.self,
      GoogleProtobuf.BytesValue.self, GoogleProtobuf.DoubleValue.self, GoogleProtobuf.FloatValue.self,
      GoogleProtobuf.Int32Value.self, GoogleProtobuf.Int64Value.self, GoogleProtobuf.StringValue.self,
      GoogleProtobuf.UInt32Value.self, GoogleProtobuf.UInt64Value.self,
    ]
    return Dictionary(uniqueKeysWithValues: types.map { ($0.descriptor.name, $0.descriptor) })
  }()
}
