/// Writes the two functions that move a message to and from its slots.
struct SlotsWriter {
  let model: MessageModel
  let visibility: String

  func write(to out: inout CodePrinter) {
    out.line()
    out.document(nil, fallback: "Reads the value out of decoded slots.")
    out.block("\(visibility) init(slots: MessageSlots) {") { out in
      for field in model.fields { writeReading(field, to: &out) }
      for oneof in model.oneofs { writeReading(oneof, to: &out) }
      out.line("self.unknownFields = slots.unknownFields")
    }
    out.line()
    out.document(nil, fallback: "Writes every field that is set into empty slots.")
    out.block("\(visibility) func fill(_ slots: SlotWriter) {") { out in
      for field in model.fields { writeFilling(field, to: &out) }
      for oneof in model.oneofs { writeFilling(oneof, to: &out) }
      out.line("slots.set(self.unknownFields)")
    }
  }

  private func writeReading(_ field: FieldModel, to out: inout CodePrinter) {
    let at = field.offset
    switch field.presence {
    case .implicit: out.line("self.\(field.name) = slots.\(field.type.reader)(at: \(at))")
    case .explicit where field.isRecursive: out.line("self._\(field.name) = slots.indirect(at: \(at))")
    case .explicit where field.type.isMessage: out.line("self.\(field.name) = slots.message(at: \(at))")
    case .explicit:
      out.line("self.\(field.name) = slots.has(at: \(field.quantifier)) ? slots.\(field.type.reader)(at: \(at)) : nil")
    case .oneof: break
    case .repeated: out.line("self.\(field.name) = slots.\(field.type.listReader)(at: \(at - 8))")
    case .map(let entry):
      let (key, value) = (entry.fields[0], entry.fields[1])
      let read =
        value.type.isMessage
        ? "entry.message(at: \(value.offset)) ?? \(value.type.swiftName)()" : "entry.\(value.type.reader)(at: \(value.offset))"
      out.block("for entry in slots.slotsList(at: \(at - 8)) {") { out in
        out.line("self.\(field.name)[entry.\(key.type.reader)(at: \(key.offset))] = \(read)")
      }
    }
  }

  private func writeReading(_ oneof: (index: Int, property: String, type: String), to out: inout CodePrinter) {
    let members = model.fields.filter { $0.isMember(ofOneof: oneof.index) }
    out.line("switch slots.oneof(at: \(members[0].quantifier)) {")
    for member in members {
      let read =
        member.type.isMessage
        ? "slots.message(at: \(member.offset)) ?? \(member.type.swiftName)()"
        : "slots.\(member.type.reader)(at: \(member.offset))"
      out.line("case \(member.number): self.\(oneof.property) = .\(member.name)(\(read))")
    }
    out.line("default: self.\(oneof.property) = nil")
    out.line("}")
  }

  private func writeFilling(_ field: FieldModel, to out: inout CodePrinter) {
    let at = field.offset
    switch field.presence {
    case .implicit:
      let has = field.quantifier == 0 ? "" : ", has: \(field.quantifier)"
      out.line("slots.set(self.\(field.name), at: \(at)\(has))")
    case .explicit where field.isRecursive:
      out.line("if let value = self._\(field.name) { slots.set(value.wrapped, at: \(at)) }")
    case .explicit where field.type.isMessage:
      out.line("if let value = self.\(field.name) { slots.set(value, at: \(at)) }")
    case .explicit:
      out.block("if let value = self.\(field.name) {") { out in
        out.line("slots.mark(at: \(field.quantifier))")
        out.line("slots.set(value, at: \(at))")
      }
    case .oneof: break
    case .repeated: out.line("slots.set(self.\(field.name), at: \(at - 8))")
    case .map(let entry):
      out.block("slots.each(self.\(field.name), of: Self.\(field.name)Entry, at: \(at - 8)) { pair, slots in") { out in
        for (part, member) in zip(["key", "value"], entry.fields) {
          if !member.type.isMessage { out.line("slots.mark(at: \(member.quantifier))") }
          out.line("slots.set(pair.\(part), at: \(member.offset))")
        }
      }
    }
  }

  private func writeFilling(_ oneof: (index: Int, property: String, type: String), to out: inout CodePrinter) {
    let members = model.fields.filter { $0.isMember(ofOneof: oneof.index) }
    out.line("switch self.\(oneof.property) {")
    for member in members {
      out.line("case .\(member.name)(let value):")
      out.line("  slots.choose(\(member.number), at: \(member.quantifier))")
      out.line("  slots.set(value, at: \(member.offset))")
    }
    out.line("case nil: break")
    out.line("}")
  }
}
