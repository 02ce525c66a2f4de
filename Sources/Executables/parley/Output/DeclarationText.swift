import DynamicMessages
import WellKnown

/// Declarations as a `.proto` file would write them, with the full names of types.
enum DeclarationText {
  /// A message, an enum or a service with its full name.
  static func lines(_ declaration: DescriptorPool.Declaration, _ name: String) -> [String] {
    switch declaration {
    case .message(let proto): message(proto, name, fullName: name)
    case .enumeration(let proto): enumeration(proto, name)
    case .service(let proto):
      ["service \(name) {"] + proto.method.map { "  rpc \($0.name ?? "")\(signature($0));" } + ["}"]
    }
  }

  /// A method as it is called, and what goes each way.
  static func method(_ proto: GoogleProtobuf.MethodDescriptorProto, of service: String) -> String {
    "\(service)/\(proto.name ?? "")\(signature(proto))"
  }

  private static func signature(_ proto: GoogleProtobuf.MethodDescriptorProto) -> String {
    let (input, output) = (DescriptorPool.name(proto.inputType), DescriptorPool.name(proto.outputType))
    let (many, replies) = (proto.clientStreaming == true ? "stream " : "", proto.serverStreaming == true ? "stream " : "")
    return " (\(many)\(input)) returns (\(replies)\(output))"
  }

  private static func message(_ proto: GoogleProtobuf.DescriptorProto, _ title: String, fullName: String) -> [String] {
    var lines = ["message \(title) {"]
    var oneofs: Set<Int32> = []
    for field in proto.field {
      guard let oneof = field.oneofIndex, field.proto3Optional != true, proto.oneofDecl.indices.contains(Int(oneof)) else {
        lines.append("  " + self.field(field, of: proto, fullName))
        continue
      }
      // A oneof stands where its first member does.
      guard oneofs.insert(oneof).inserted else { continue }
      lines.append("  oneof \(proto.oneofDecl[Int(oneof)].name ?? "") {")
      lines += proto.field.filter { $0.oneofIndex == oneof }.map { "    \(type($0)) \(named($0))" }
      lines.append("  }")
    }
    for nested in proto.nestedType where nested.options?.mapEntry != true {
      lines += message(nested, nested.name ?? "", fullName: "\(fullName).\(nested.name ?? "")").map { "  " + $0 }
    }
    for item in proto.enumType { lines += enumeration(item, item.name ?? "").map { "  " + $0 } }
    return lines + ["}"]
  }

  private static func enumeration(_ proto: GoogleProtobuf.EnumDescriptorProto, _ title: String) -> [String] {
    ["enum \(title) {"] + proto.value.map { "  \($0.name ?? "") = \($0.number ?? 0);" } + ["}"]
  }

  private static func field(
    _ field: GoogleProtobuf.FieldDescriptorProto, of message: GoogleProtobuf.DescriptorProto, _ fullName: String
  ) -> String {
    if let entry = message.nestedType.first(where: { ".\(fullName).\($0.name ?? "")" == field.typeName }),
      entry.options?.mapEntry == true, entry.field.count == 2
    {
      return "map<\(type(entry.field[0])), \(type(entry.field[1]))> \(named(field))"
    }
    let label =
      switch field.label {
      case .repeated: "repeated "
      case .required: "required "
      default: field.proto3Optional == true ? "optional " : ""
      }
    return "\(label)\(type(field)) \(named(field))"
  }

  private static func named(_ field: GoogleProtobuf.FieldDescriptorProto) -> String {
    "\(field.name ?? "") = \(field.number ?? 0);"
  }

  private static func type(_ field: GoogleProtobuf.FieldDescriptorProto) -> String {
    switch field.type {
    case .double: "double"
    case .float: "float"
    case .int64: "int64"
    case .uint64: "uint64"
    case .int32: "int32"
    case .fixed64: "fixed64"
    case .fixed32: "fixed32"
    case .bool: "bool"
    case .string: "string"
    case .bytes: "bytes"
    case .uint32: "uint32"
    case .sfixed32: "sfixed32"
    case .sfixed64: "sfixed64"
    case .sint32: "sint32"
    case .sint64: "sint64"
    case .group: "group \(DescriptorPool.name(field.typeName))"
    case .message, .enum, .unrecognized, nil: DescriptorPool.name(field.typeName)
    }
  }
}
