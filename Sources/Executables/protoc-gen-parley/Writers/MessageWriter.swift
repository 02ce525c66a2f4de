import WellKnown

/// Writes a message: its properties, its nested types, and how it moves to and from slots.
struct MessageWriter {
  let model: MessageModel
  let swiftName: String
  let comments: Comments
  let path: [Int32]
  let context: FileContext

  private var visibility: String { context.visibility }

  func write(to out: inout CodePrinter) throws(GenerationError) {
    let nested = try nestedModels()
    out.document(comments[path], fallback: "`\(model.fullName)`.")
    var failure: GenerationError?
    out.block("\(visibility) struct \(swiftName): Message {") { out in
      writeProperties(to: &out)
      writeInitializers(to: &out)
      for oneof in model.oneofs { writeOneof(oneof, to: &out) }
      do throws(GenerationError) {
        for (index, item) in model.proto.enumType.enumerated() {
          out.line()
          context.enumWriter(item, in: model.fullName, comments, path + [4, Int32(index)]).write(to: &out)
        }
        for (index, nested) in nested {
          out.line()
          try MessageWriter(
            model: nested, swiftName: TypeIndex.swiftName(nested.proto), comments: comments, path: path + [3, Int32(index)],
            context: context
          ).write(to: &out)
        }
      } catch {
        failure = error
      }
      DescriptorWriter(model: model, visibility: visibility).write(to: &out)
      SlotsWriter(model: model, visibility: visibility).write(to: &out)
    }
    if let failure { throw failure }
  }

  private func nestedModels() throws(GenerationError) -> [(Int, MessageModel)] {
    var models: [(Int, MessageModel)] = []
    for (index, nested) in model.proto.nestedType.enumerated() where nested.options?.mapEntry != true {
      models.append((index, try context.model(nested, "\(model.fullName).\(nested.name ?? "")")))
    }
    return models
  }

  private func writeProperties(to out: inout CodePrinter) {
    var written: Set<Int> = []
    for field in model.fields {
      let comment = comments[path + [2, Int32(field.index)]]
      if case .oneof(let index) = field.presence {
        guard written.insert(index).inserted, let oneof = model.oneofs.first(where: { $0.index == index }) else { continue }
        out.document(comments[path + [8, Int32(index)]], fallback: "One of the values of `\(oneof.property)`.")
        out.line("\(visibility) var \(SwiftNames.escaped(oneof.property)): \(oneof.type)?")
      } else if field.isRecursive {
        out.document(comment, fallback: "`\(field.proto.name ?? "")`.")
        out.block("\(visibility) var \(SwiftNames.escaped(field.name)): \(field.swiftType) {") { out in
          out.line("get { self._\(field.name)?.wrapped }")
          out.line("set { self._\(field.name) = newValue.map { Indirect($0) } }")
        }
        out.line("private var _\(field.name): Indirect<\(field.type.swiftName)>?")
      } else {
        out.document(comment, fallback: "`\(field.proto.name ?? "")`.")
        let initial = field.defaultValue == "nil" ? "" : " = \(field.defaultValue)"
        out.line("\(visibility) var \(SwiftNames.escaped(field.name)): \(field.swiftType)\(initial)")
      }
    }
    out.document(nil, fallback: "Fields that came over the wire and that this version does not know.")
    out.line("\(visibility) var unknownFields = UnknownFields()")
  }

  private func writeInitializers(to out: inout CodePrinter) {
    out.line()
    out.document(nil, fallback: "A message with every field at its default.")
    out.line("\(visibility) init() {}")
    // A list of very many parameters helps nobody and is slow to type-check.
    guard !model.fields.isEmpty, model.fields.count <= 64 else { return }
    var parameters: [(name: String, type: String, initial: String)] = []
    var written: Set<Int> = []
    for field in model.fields {
      if case .oneof(let index) = field.presence {
        guard written.insert(index).inserted, let oneof = model.oneofs.first(where: { $0.index == index }) else { continue }
        parameters.append((oneof.property, "\(oneof.type)?", "nil"))
      } else {
        parameters.append((field.name, field.swiftType, field.defaultValue))
      }
    }
    out.line()
    out.document(nil, fallback: "A message with these fields.")
    out.block("\(visibility) init(", closing: ") {") { out in
      for (index, parameter) in parameters.enumerated() {
        let comma = index + 1 < parameters.count ? "," : ""
        out.line("\(SwiftNames.escaped(parameter.name)): \(parameter.type) = \(parameter.initial)\(comma)")
      }
    }
    out.block("", closing: "}") { out in
      for parameter in parameters { out.line("self.\(parameter.name) = \(SwiftNames.escaped(parameter.name))") }
    }
  }

  private func writeOneof(_ oneof: (index: Int, property: String, type: String), to out: inout CodePrinter) {
    let members = model.fields.filter { $0.isMember(ofOneof: oneof.index) }
    out.line()
    out.document(comments[path + [8, Int32(oneof.index)]], fallback: "The values of which `\(oneof.property)` is one.")
    let indirect = members.contains { $0.isRecursive } ? "indirect " : ""
    out.block("\(visibility) \(indirect)enum \(oneof.type): Sendable, Hashable {") { out in
      for member in members {
        out.document(comments[path + [2, Int32(member.index)]], fallback: "`\(member.proto.name ?? "")`.")
        out.line("case \(SwiftNames.escaped(member.name))(\(member.type.swiftName))")
      }
    }
  }
}
