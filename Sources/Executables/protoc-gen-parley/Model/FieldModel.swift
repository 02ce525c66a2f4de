import MessagesCore
import WellKnown

/// A field with everything that the writers need to know of it.
struct FieldModel {
  enum Presence {
    /// The default value is the same as absence.
    case implicit
    /// An Optional in Swift.
    case explicit
    case oneof(index: Int)
    case repeated(isPacked: Bool)
    case map(entry: MessageModel)
  }

  let proto: GoogleProtobuf.FieldDescriptorProto
  let number: Int32
  /// The Swift property, not escaped.
  var name: String
  let type: ValueType
  let presence: Presence
  /// Whether the value contains the message that it is in, so that it must be boxed.
  let isRecursive: Bool
  /// The position in the `.proto` file, for comments.
  let index: Int
  /// The offset of the value, of the pointer to the elements, or of the oneof's value.
  var offset = 0
  /// The offset of the flag or of the oneof's case; 0 if there is none.
  var quantifier = 0

  /// The type of the Swift property.
  var swiftType: String {
    switch presence {
    case .implicit: type.swiftName
    case .explicit: "\(type.swiftName)?"
    case .oneof: type.swiftName
    case .repeated: "[\(type.swiftName)]"
    case .map(let entry): "[\(entry.fields[0].type.swiftName): \(entry.fields[1].type.swiftName)]"
    }
  }

  /// What the property starts as.
  var defaultValue: String {
    switch presence {
    case .implicit: type.defaultValue
    case .explicit, .oneof: "nil"
    case .repeated: "[]"
    case .map: "[:]"
    }
  }
}

/// The type of a field's values.
enum ValueType {
  case scalar(FieldDescriptor.Scalar)
  case enumeration(swiftName: String)
  case message(swiftName: String)

  var swiftName: String {
    switch self {
    case .enumeration(let name), .message(let name): name
    case .scalar(let scalar):
      switch scalar {
      case .int32, .sint32, .sfixed32: "Int32"
      case .int64, .sint64, .sfixed64: "Int64"
      case .uint32, .fixed32: "UInt32"
      case .uint64, .fixed64: "UInt64"
      case .float: "Float"
      case .double: "Double"
      case .bool: "Bool"
      case .string: "String"
      case .bytes: "Bytes"
      }
    }
  }

  var isMessage: Bool {
    if case .message = self { true } else { false }
  }

  /// What lies in the slots.
  var slotValue: SlotValue {
    switch self {
    case .scalar(let scalar): .scalar(scalar)
    case .enumeration: .enumeration
    case .message: .message
    }
  }

  var defaultValue: String {
    switch self {
    case .enumeration(let name), .message(let name): isMessage ? "\(name)()" : "\(name)(rawValue: 0)"
    case .scalar(let scalar):
      switch scalar {
      case .string: "\"\""
      case .bytes: "Bytes()"
      case .bool: "false"
      default: "0"
      }
    }
  }

  /// The name of the accessor of ``MessageSlots`` for one value.
  var reader: String {
    switch self {
    case .enumeration: "enumeration"
    case .message: "message"
    case .scalar: swiftName.lowercased()
    }
  }

  /// The name of the accessor for all values of a repeated field.
  var listReader: String {
    self.swiftName == "Bytes" ? "bytesList" : reader + "s"
  }

  /// The kind as the descriptor writes it.
  var descriptorKind: String {
    switch self {
    case .scalar(let scalar): ".scalar(.\(scalar))"
    case .enumeration(let name): ".enumeration({ \(name).descriptor })"
    case .message(let name): ".message({ \(name).descriptor })"
    }
  }
}
