import WellKnown

/// Writes the descriptor table of a message, and those of its map entries.
struct DescriptorWriter {
  let model: MessageModel
  let visibility: String

  func write(to out: inout CodePrinter) {
    out.line()
    out.document(nil, fallback: "The fields of `\(model.fullName)` and where their slots lie.")
    write(model, name: "descriptor", access: visibility, isMapEntry: false, to: &out)
    for field in model.fields {
      if case .map(let entry) = field.presence {
        out.line()
        write(entry, name: "\(field.name)Entry", access: "private", isMapEntry: true, to: &out)
      }
    }
  }

  private func write(_ model: MessageModel, name: String, access: String, isMapEntry: Bool, to out: inout CodePrinter) {
    out.block("\(access) static let \(name): MessageDescriptor = .init(", closing: ")") { out in
      out.line("\"\(model.fullName)\", slotSize: \(model.slotSize),")
      let closing = isMapEntry ? "], isMapEntry: true" : "]"
      guard !model.fields.isEmpty else {
        out.line("fields: []")
        return
      }
      out.block("fields: [", closing: closing) { out in
        for field in model.fields.sorted(by: { $0.number < $1.number }) { out.line(line(field)) }
      }
    }
  }

  private func line(_ field: FieldModel) -> String {
    let name = field.proto.name ?? ""
    let jsonName = field.proto.jsonName ?? name
    let json = jsonName == name ? "" : ", json: \"\(jsonName)\""
    var kind = field.type.descriptorKind
    let shape: String
    switch field.presence {
    case .implicit: shape = ".implicit(has: \(field.quantifier))"
    case .explicit: shape = ".optional(has: \(field.quantifier))"
    case .oneof: shape = ".oneof(caseAt: \(field.quantifier))"
    case .repeated(let isPacked): shape = ".repeated(packed: \(isPacked))"
    case .map:
      shape = ".map"
      kind = ".message({ \(field.name)Entry })"
    }
    return ".init(\(field.number), \"\(name)\"\(json), \(kind), \(shape), at: \(field.offset)),"
  }
}
