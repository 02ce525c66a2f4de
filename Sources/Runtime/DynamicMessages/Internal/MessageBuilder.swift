import MessagesCore
import WellKnown

/// Builds a message and everything that it can contain.
///
/// Without recursion, since how long a chain of types is, is the sender's choice.
struct MessageBuilder {
  private let index: DeclarationIndex
  private(set) var types: BuiltTypes
  private var links: [String: MessageLink] = [:]
  private var open: [String] = []

  init(index: DeclarationIndex, types: BuiltTypes) {
    self.index = index
    self.types = types
  }

  mutating func message(_ root: String) throws(DescriptorError) -> MessageDescriptor {
    if let known = known(root) { return known }
    open = [root]
    while let name = open.popLast() {
      if types.messages[name] == nil { types.messages[name] = try build(name) }
    }
    for (name, link) in links {
      guard let target = types.messages[name] else { throw Self.missing(name, usedBy: root) }
      link.bind(target)
    }
    links = [:]
    guard let message = types.messages[root] else { throw Self.missing(root, usedBy: nil) }
    return message
  }

  /// What is compiled in comes before what a server says: the JSON forms rely on the fields being what they are.
  private func known(_ name: String) -> MessageDescriptor? { WellKnownTypes.messages[name] ?? types.messages[name] }

  private mutating func build(_ name: String) throws(DescriptorError) -> MessageDescriptor {
    guard let entry = index.declarations[name], case .message(let proto) = entry.declaration else {
      throw Self.missing(name, usedBy: nil)
    }
    guard proto.field.count <= 65_535 else { throw DescriptorError(.tooLarge, "\(name) has more than 65,535 fields") }
    let isMapEntry = proto.options?.mapEntry == true
    // Key and value are written even where they are the default, as everybody does.
    let syntax = isMapEntry ? .proto2 : entry.syntax
    var fields: [FieldPlan] = []
    for field in proto.field {
      fields.append(
        try FieldReader(field, of: proto, name, syntax).plan { (typeName) throws(DescriptorError) in
          try type(typeName, usedBy: name)
        })
    }
    try FieldRules.check(fields, of: name, isMapEntry: isMapEntry)
    let layout = SlotPlan(fields)
    return MessageDescriptor(name, slotSize: layout.size, fields: layout.fields, isMapEntry: isMapEntry)
  }

  /// A type by the name that a field gives it: `.package.Message`.
  private mutating func type(_ typeName: String, usedBy user: String) throws(DescriptorError) -> FieldType {
    let name = typeName.hasPrefix(".") ? String(typeName.dropFirst()) : typeName
    if let message = known(name) { return .message({ message }, mapEntryOf: nil) }
    switch index.declarations[name]?.declaration {
    case .message(let proto):
      let link = links[name] ?? MessageLink()
      if links.updateValue(link, forKey: name) == nil { open.append(name) }
      let isMapEntry = proto.options?.mapEntry == true
      return .message({ link.descriptor }, mapEntryOf: isMapEntry ? String(name.dropLast((proto.name ?? "").count + 1)) : nil)
    case .enumeration(let proto):
      if let built = types.enums[name] { return .enumeration(built) }
      let built = try Self.enumeration(proto, name)
      types.enums[name] = built
      return .enumeration(built)
    case .service, nil: throw Self.missing(name, usedBy: user)
    }
  }

  private static func enumeration(
    _ proto: GoogleProtobuf.EnumDescriptorProto, _ name: String
  ) throws(DescriptorError) -> EnumDescriptor {
    var values: [(number: Int32, name: String)] = []
    for value in proto.value { values.append((value.number ?? 0, try Identifier.check(value.name, in: name))) }
    guard Set(values.map(\.name)).count == values.count else {
      throw DescriptorError(.duplicate, "two values of \(name) have the same name")
    }
    return EnumDescriptor(name, values)
  }

  private static func missing(_ name: String, usedBy user: String?) -> DescriptorError {
    let quoted = name.split(separator: ".").allSatisfy { Identifier.isValid(String($0)) } ? name : name.debugDescription
    guard let user else { return DescriptorError(.missing, "no file declares a message \(quoted)") }
    return DescriptorError(.missing, "\(user) uses \(quoted), which no file declares")
  }
}

/// The type of a field that has one of its own.
enum FieldType {
  /// A message; `mapEntryOf` is the message around it if it is the entry of a map.
  case message(@Sendable () -> MessageDescriptor, mapEntryOf: String?)
  case enumeration(EnumDescriptor)
}
