import DynamicMessages
import MessagesCore
import MessagesWire
import WellKnown

typealias File = GoogleProtobuf.FileDescriptorProto
typealias MessageProto = GoogleProtobuf.DescriptorProto
typealias FieldProto = GoogleProtobuf.FieldDescriptorProto
typealias EnumProto = GoogleProtobuf.EnumDescriptorProto

extension File {
  /// A file of package `p`.
  static func of(
    _ messages: MessageProto..., enums: [EnumProto] = [], syntax: String? = "proto3", name: String = "f.proto"
  ) -> File {
    var file = File()
    (file.name, file.package, file.syntax) = (name, "p", syntax)
    (file.messageType, file.enumType) = (messages, enums)
    return file
  }
}

extension MessageProto {
  /// A message with these fields.
  static func named(_ name: String?, _ fields: FieldProto..., nested: [MessageProto] = [], oneofs: [String] = []) -> MessageProto
  {
    var message = MessageProto()
    (message.name, message.field, message.nestedType) = (name, fields, nested)
    message.oneofDecl = oneofs.map { .init(name: $0) }
    return message
  }

  /// The entry of a map.
  static func entry(_ name: String, _ fields: FieldProto...) -> MessageProto {
    var message = MessageProto()
    (message.name, message.field) = (name, fields)
    message.options = .init(mapEntry: true)
    return message
  }
}

extension FieldProto {
  /// A field; `oneof` is the index of the one that it is in.
  static func of(
    _ name: String?, _ number: Int32?, _ type: TypeEnum?, _ typeName: String? = nil, label: Label? = .optional,
    oneof: Int32? = nil, json: String? = nil
  ) -> FieldProto {
    var field = FieldProto()
    (field.name, field.number, field.type, field.typeName) = (name, number, type, typeName)
    (field.label, field.oneofIndex, field.jsonName) = (label, oneof, json)
    return field
  }
}

extension EnumProto {
  /// An enum with these values, numbered from 0.
  static func named(_ name: String, _ values: String?...) -> EnumProto {
    var item = EnumProto()
    item.name = name
    item.value = values.enumerated().map { .init(name: $1, number: Int32($0)) }
    return item
  }
}

extension DescriptorPool {
  /// A pool of these files.
  static func of(_ files: File...) throws -> DescriptorPool {
    let pool = DescriptorPool()
    try pool.add(files)
    return pool
  }

  /// A pool of a compiled file and all that it imports.
  static func of(_ root: FileDescriptor) throws -> DescriptorPool {
    let pool = DescriptorPool()
    var open = [root]
    while let file = open.popLast() {
      try pool.add([try File(protobuf: file.serialized)])
      open += file.dependencies
    }
    return pool
  }
}
