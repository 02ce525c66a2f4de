import WellKnown

/// A message with its fields and the layout of its slots.
struct MessageModel {
  /// The full name without the leading dot.
  let fullName: String
  let proto: GoogleProtobuf.DescriptorProto
  private(set) var fields: [FieldModel] = []
  /// The name of the Swift enum and property of each real oneof, by its index.
  private(set) var oneofs: [(index: Int, property: String, type: String)] = []
  private(set) var slotSize = 24

  init(
    _ proto: GoogleProtobuf.DescriptorProto, fullName: String, isProto3: Bool, _ types: TypeIndex
  ) throws(GenerationError) {
    self.fullName = fullName
    self.proto = proto
    for (index, field) in proto.field.enumerated() {
      fields.append(try Self.field(field, index, of: proto, fullName, isProto3, types))
    }
    for (index, name) in SwiftNames.distinct(fields.map(\.name), numbers: fields.map(\.number)).enumerated() {
      fields[index].name = name
    }
    for (index, oneof) in proto.oneofDecl.enumerated() where fields.contains(where: { $0.isMember(ofOneof: index) }) {
      let property = SwiftNames.member(oneof.name ?? "")
      oneofs.append((index, property, SwiftNames.capitalized(property)))
    }
    avoidTypeClashes()
    layOut(isMapEntry: proto.options?.mapEntry == true)
  }

  /// A oneof's enum must not be called like a nested type.
  private mutating func avoidTypeClashes() {
    let nested = Set(proto.nestedType.map(TypeIndex.swiftName) + proto.enumType.map { TypeIndex.swiftName($0, package: nil) })
    for index in oneofs.indices where nested.contains(oneofs[index].type) || ["Type", "Protocol"].contains(oneofs[index].type) {
      oneofs[index].type += "Oneof"
    }
  }

  /// Gives every field its place: what wants 8-byte alignment first, then the 4-byte values and flags.
  private mutating func layOut(isMapEntry: Bool) {
    var end = 24
    func take(_ size: Int) -> Int {
      defer { end += size }
      return end
    }
    for index in fields.indices {
      switch fields[index].presence {
      case .repeated, .map: fields[index].offset = take(16) + 8
      case .oneof: break
      case .implicit, .explicit:
        let size = fields[index].type.slotSize
        if size >= 8 { fields[index].offset = take(size) }
      }
    }
    for oneof in oneofs {
      let members = fields.indices.filter { fields[$0].isMember(ofOneof: oneof.index) }
      let place = take(members.contains { fields[$0].type.slotSize == 16 } ? 16 : 8)
      for member in members { fields[member].offset = place }
    }
    for index in fields.indices {
      switch fields[index].presence {
      case .implicit, .explicit:
        if fields[index].type.slotSize == 4 { fields[index].offset = take(4) }
        let isExplicit = if case .explicit = fields[index].presence { !fields[index].type.isMessage } else { false }
        // An implicit -0.0 counts as set (its bits are not zero), so floating point needs a flag too.
        if isExplicit || fields[index].type.isFloatingPoint { fields[index].quantifier = take(4) }
      default: break
      }
    }
    for oneof in oneofs {
      let place = take(4)
      for member in fields.indices where fields[member].isMember(ofOneof: oneof.index) { fields[member].quantifier = place }
    }
    slotSize = (end + 7) & ~7
  }

  private static func field(
    _ field: GoogleProtobuf.FieldDescriptorProto, _ index: Int, of message: GoogleProtobuf.DescriptorProto, _ fullName: String,
    _ isProto3: Bool, _ types: TypeIndex
  ) throws(GenerationError) -> FieldModel {
    let type = try valueType(field, fullName, types)
    var presence = FieldModel.Presence.implicit
    if field.label == .repeated {
      let isPackable = !type.isMessage && type.swiftName != "String" && type.swiftName != "Bytes"
      presence = .repeated(isPacked: isPackable && (field.options?.packed ?? isProto3))
      if let entry = message.nestedType.first(where: { field.typeName == ".\(fullName).\($0.name ?? "")" }),
        entry.options?.mapEntry == true
      {
        presence = .map(entry: try MessageModel(entry, fullName: "\(fullName).\(entry.name ?? "")", isProto3: false, types))
      }
    } else if let oneof = field.oneofIndex, field.proto3Optional != true {
      presence = .oneof(index: Int(oneof))
    } else if !isProto3 || field.proto3Optional == true || type.isMessage {
      presence = .explicit
    }
    var isRecursive = false
    if type.isMessage, field.label != .repeated {
      isRecursive = try contains(field.typeName ?? "", ".\(fullName)", types)
    }
    return FieldModel(
      proto: field, number: field.number ?? 0, name: SwiftNames.member(field.name ?? ""), type: type, presence: presence,
      isRecursive: isRecursive, index: index)
  }

  /// Whether a message holds another one, or itself, by value through singular fields.
  private static func contains(_ outer: String, _ inner: String, _ types: TypeIndex) throws(GenerationError) -> Bool {
    var open = [outer]
    var seen: Set<String> = []
    while let name = open.popLast() {
      if name == inner { return true }
      guard seen.insert(name).inserted else { continue }
      guard let message = try types.entry(name).message else { continue }
      for field in message.field where field.type == .message && field.label != .repeated { open.append(field.typeName ?? "") }
    }
    return false
  }

  private static func valueType(
    _ field: GoogleProtobuf.FieldDescriptorProto, _ fullName: String, _ types: TypeIndex
  ) throws(GenerationError) -> ValueType {
    switch field.type {
    case .double: return .scalar(name: "double", swiftName: "Double")
    case .float: return .scalar(name: "float", swiftName: "Float")
    case .int64: return .scalar(name: "int64", swiftName: "Int64")
    case .uint64: return .scalar(name: "uint64", swiftName: "UInt64")
    case .int32: return .scalar(name: "int32", swiftName: "Int32")
    case .fixed64: return .scalar(name: "fixed64", swiftName: "UInt64")
    case .fixed32: return .scalar(name: "fixed32", swiftName: "UInt32")
    case .bool: return .scalar(name: "bool", swiftName: "Bool")
    case .string: return .scalar(name: "string", swiftName: "String")
    case .bytes: return .scalar(name: "bytes", swiftName: "Bytes")
    case .uint32: return .scalar(name: "uint32", swiftName: "UInt32")
    case .sfixed32: return .scalar(name: "sfixed32", swiftName: "Int32")
    case .sfixed64: return .scalar(name: "sfixed64", swiftName: "Int64")
    case .sint32: return .scalar(name: "sint32", swiftName: "Int32")
    case .sint64: return .scalar(name: "sint64", swiftName: "Int64")
    case .message: return .message(swiftName: try types.entry(field.typeName).swiftName)
    case .enum: return .enumeration(swiftName: try types.entry(field.typeName).swiftName)
    case .group: throw GenerationError("\(fullName).\(field.name ?? ""): groups are not supported")
    default: throw GenerationError("\(fullName).\(field.name ?? ""): the type is unknown")
    }
  }
}

extension FieldModel {
  func isMember(ofOneof index: Int) -> Bool {
    if case .oneof(let own) = presence { own == index } else { false }
  }
}
