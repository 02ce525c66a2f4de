import MessagesCore
import WellKnown

/// A message with its fields and the layout of its slots.
struct MessageModel {
  /// The full name without the leading dot.
  let fullName: String
  let proto: GoogleProtobuf.DescriptorProto
  private(set) var fields: [FieldModel] = []
  /// The name of the Swift enum and property of each real oneof, by its index.
  private(set) var oneofs: [(index: Int, property: String, type: String)] = []
  private(set) var slotSize = 0

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
    layOut()
  }

  /// A oneof's enum must not be called like a nested type.
  private mutating func avoidTypeClashes() {
    let nested = Set(proto.nestedType.map(TypeIndex.swiftName) + proto.enumType.map { TypeIndex.swiftName($0, package: nil) })
    for index in oneofs.indices where nested.contains(oneofs[index].type) || ["Type", "Protocol"].contains(oneofs[index].type) {
      oneofs[index].type += "Oneof"
    }
  }

  private mutating func layOut() {
    let placement = SlotPlacement(
      fields.map { field in
        switch field.presence {
        case .implicit: .single(field.type.slotValue, isExplicit: false)
        case .explicit: .single(field.type.slotValue, isExplicit: true)
        case .oneof(let oneof): .member(field.type.slotValue, ofOneof: oneof)
        case .repeated, .map: .elements
        }
      })
    for (index, place) in placement.places.enumerated() {
      fields[index].offset = place.value
      fields[index].quantifier = place.quantifier
    }
    slotSize = placement.size
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
    case .double: return .scalar(.double)
    case .float: return .scalar(.float)
    case .int64: return .scalar(.int64)
    case .uint64: return .scalar(.uint64)
    case .int32: return .scalar(.int32)
    case .fixed64: return .scalar(.fixed64)
    case .fixed32: return .scalar(.fixed32)
    case .bool: return .scalar(.bool)
    case .string: return .scalar(.string)
    case .bytes: return .scalar(.bytes)
    case .uint32: return .scalar(.uint32)
    case .sfixed32: return .scalar(.sfixed32)
    case .sfixed64: return .scalar(.sfixed64)
    case .sint32: return .scalar(.sint32)
    case .sint64: return .scalar(.sint64)
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
