import MessagesCore
import WellKnown

/// A field as it is declared, checked, and without its place in the slots.
struct FieldPlan {
  enum Presence: Equatable {
    /// The default value is the same as absence.
    case implicit
    case explicit
    case oneof(Int)
    case repeated(isPacked: Bool)
    case map
  }

  let number: Int32
  let name: String
  var jsonName: String
  let kind: FieldDescriptor.Kind
  let presence: Presence
}

/// Reads the declaration of one field.
struct FieldReader {
  private let field: GoogleProtobuf.FieldDescriptorProto
  private let message: GoogleProtobuf.DescriptorProto
  private let messageName: String
  private let syntax: DeclarationIndex.Syntax

  init(
    _ field: GoogleProtobuf.FieldDescriptorProto, of message: GoogleProtobuf.DescriptorProto, _ messageName: String,
    _ syntax: DeclarationIndex.Syntax
  ) {
    self.field = field
    self.message = message
    self.messageName = messageName
    self.syntax = syntax
  }

  /// The field, with its type looked up by `resolve`.
  func plan(_ resolve: (String) throws(DescriptorError) -> FieldType) throws(DescriptorError) -> FieldPlan {
    let name = try Identifier.check(field.name, in: messageName)
    let number = field.number ?? 0
    guard (1...536_870_911).contains(number), !(19_000...19_999).contains(number) else {
      throw DescriptorError(.invalid, "\(messageName).\(name) has the number \(number)")
    }
    let type = try type(name, resolve)
    return FieldPlan(
      number: number, name: name, jsonName: field.jsonName ?? Self.jsonName(name), kind: type.kind,
      presence: try presence(name, type))
  }

  private struct ValueType {
    let kind: FieldDescriptor.Kind
    var mapEntryOf: String?
    var isMessage = false
    var isPackable = true
  }

  private func type(
    _ name: String, _ resolve: (String) throws(DescriptorError) -> FieldType
  ) throws(DescriptorError) -> ValueType {
    switch field.type {
    case .group: throw DescriptorError(.unsupported, "\(messageName).\(name) is a group, which is not supported")
    case .message, .enum, nil:
      let resolved = try resolve(field.typeName ?? "")
      switch (resolved, field.type) {
      case (.message(let descriptor, let around), .message), (.message(let descriptor, let around), nil):
        return ValueType(kind: .message(descriptor), mapEntryOf: around, isMessage: true, isPackable: false)
      case (.enumeration(let descriptor), .enum), (.enumeration(let descriptor), nil):
        return ValueType(kind: .enumeration({ descriptor }))
      default: throw DescriptorError(.invalid, "\(messageName).\(name) takes a message for an enum or an enum for a message")
      }
    case .some(let type):
      guard let scalar = FieldDescriptor.Scalar(type) else {
        throw DescriptorError(.invalid, "\(messageName).\(name) has a type that is not known")
      }
      return ValueType(kind: .scalar(scalar), isPackable: scalar != .string && scalar != .bytes)
    }
  }

  private func presence(_ name: String, _ type: ValueType) throws(DescriptorError) -> FieldPlan.Presence {
    if let around = type.mapEntryOf {
      // The entry belongs to the message that has the field; anything else could not be written in the language.
      guard field.label == .repeated, around == messageName, field.oneofIndex == nil else {
        throw DescriptorError(.invalid, "\(messageName).\(name) uses the entry of a map that is not its own")
      }
      return .map
    }
    switch field.label {
    case .repeated:
      guard field.oneofIndex == nil else { throw DescriptorError(.invalid, "\(messageName).\(name) is repeated in a oneof") }
      return .repeated(isPacked: type.isPackable && (field.options?.packed ?? syntax.packsByDefault))
    case .optional, .required, nil:
      if let oneof = field.oneofIndex {
        guard message.oneofDecl.indices.contains(Int(oneof)) else {
          throw DescriptorError(.invalid, "\(messageName).\(name) is in a oneof that does not exist")
        }
        // `optional` of proto3 has a oneof of its own that exists for older readers only.
        return field.proto3Optional == true ? .explicit : .oneof(Int(oneof))
      }
      let isImplicit = syntax.hasImplicitPresence && field.proto3Optional != true && !type.isMessage
      return isImplicit ? .implicit : .explicit
    case .unrecognized: throw DescriptorError(.invalid, "\(messageName).\(name) has a label that is not known")
    }
  }

  /// The lowerCamel name that protoc gives a field that names none.
  static func jsonName(_ name: String) -> String {
    var result = ""
    var isUpper = false
    for character in name {
      if character == "_" {
        isUpper = true
      } else {
        result += isUpper ? character.uppercased() : String(character)
        isUpper = false
      }
    }
    return result
  }
}

extension FieldDescriptor.Scalar {
  /// The scalar of this type, or nil if it is none.
  init?(_ type: GoogleProtobuf.FieldDescriptorProto.TypeEnum) {
    switch type {
    case .double: self = .double
    case .float: self = .float
    case .int64: self = .int64
    case .uint64: self = .uint64
    case .int32: self = .int32
    case .fixed64: self = .fixed64
    case .fixed32: self = .fixed32
    case .bool: self = .bool
    case .string: self = .string
    case .bytes: self = .bytes
    case .uint32: self = .uint32
    case .sfixed32: self = .sfixed32
    case .sfixed64: self = .sfixed64
    case .sint32: self = .sint32
    case .sint64: self = .sint64
    case .group, .message, .enum, .unrecognized: return nil
    }
  }
}
