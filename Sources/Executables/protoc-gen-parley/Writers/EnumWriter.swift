import WellKnown

/// Writes an enum.
struct EnumWriter {
  let proto: GoogleProtobuf.EnumDescriptorProto
  let fullName: String
  let swiftName: String
  let comments: Comments
  let path: [Int32]
  let visibility: String

  func write(to out: inout CodePrinter) {
    let names = proto.value.map { $0.name ?? "" }
    let cases = SwiftNames.distinct(
      proto.value.map { SwiftNames.enumCase($0.name ?? "", enumName: proto.name ?? "", allNames: names) },
      numbers: proto.value.map { $0.number ?? 0 })
    var seen: [Int32: Int] = [:]
    var aliases: [Int] = []
    var originals: [Int] = []
    for (index, value) in proto.value.enumerated() {
      if seen[value.number ?? 0] == nil {
        seen[value.number ?? 0] = index
        originals.append(index)
      } else {
        aliases.append(index)
      }
    }
    out.document(comments[path], fallback: "`\(fullName)`.")
    out.block("\(visibility) enum \(swiftName): ProtoEnum {") { out in
      for index in originals {
        out.document(comments[path + [2, Int32(index)]], fallback: "`\(names[index])`.")
        out.line("case \(SwiftNames.escaped(cases[index]))")
      }
      out.document(nil, fallback: "A number without a name in this version.")
      out.line("case unrecognized(Int32)")
      // Names of one number that differ in case alone are one name in Swift.
      for index in aliases where cases.firstIndex(of: cases[index]) == index {
        let original = cases[seen[proto.value[index].number ?? 0] ?? 0]
        out.line()
        out.document(comments[path + [2, Int32(index)]], fallback: "Another name of `\(original)`.")
        out.line("\(visibility) static var \(SwiftNames.escaped(cases[index])): Self { .\(original) }")
      }
      out.line()
      writeRawValue(originals, cases, to: &out)
      out.line()
      out.document(nil, fallback: "The names and numbers of this enum.")
      out.block("\(visibility) static let descriptor: EnumDescriptor = .init(", closing: ")") { out in
        out.line("\"\(fullName)\",")
        out.block("[", closing: "]") { out in
          for value in proto.value { out.line("(\(value.number ?? 0), \"\(value.name ?? "")\"),") }
        }
      }
    }
  }

  private func writeRawValue(_ originals: [Int], _ cases: [String], to out: inout CodePrinter) {
    out.document(nil, fallback: "The case with this number; never fails.")
    out.block("\(visibility) init(rawValue: Int32) {") { out in
      out.line("switch rawValue {")
      for index in originals { out.line("case \(proto.value[index].number ?? 0): self = .\(cases[index])") }
      out.line("default: self = .unrecognized(rawValue)")
      out.line("}")
    }
    out.line()
    out.document(nil, fallback: "The number on the wire.")
    out.block("\(visibility) var rawValue: Int32 {") { out in
      out.line("switch self {")
      for index in originals { out.line("case .\(cases[index]): \(proto.value[index].number ?? 0)") }
      out.line("case .unrecognized(let number): number")
      out.line("}")
    }
  }
}
