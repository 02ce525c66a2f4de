import MessagesCore
import MessagesWire
import WellKnown

/// Writes the file's own descriptor, which server reflection hands out.
struct FileDescriptorWriter {
  let context: FileContext

  /// The static member of `FileDescriptor` that a file gets: `parley/broker/v1/broker.proto` → `parleyBrokerV1Broker`.
  static func member(_ file: GoogleProtobuf.FileDescriptorProto) -> String { member(path: file.name ?? "") }

  private static func member(path: String) -> String {
    let stem = path.hasSuffix(".proto") ? String(path.dropLast(6)) : path
    let parts = stem.split { !$0.isLetter && !$0.isNumber }.map { SwiftNames.capitalized(String($0)) }
    let name = parts.joined()
    return name.prefix(1).lowercased() + name.dropFirst()
  }

  func write(to out: inout CodePrinter) throws(GenerationError) {
    var file = context.file
    file.sourceCodeInfo = nil
    let bytes: [UInt8]
    do throws(EncodeError) { bytes = try file.protobufBytes() } catch { throw GenerationError("\(file.name ?? ""): \(error)") }
    let text = Bytes(bytes).base64
    out.line()
    out.block("extension FileDescriptor {") { out in
      out.document(nil, fallback: "`\(file.name ?? "")`.")
      out.block("\(context.visibility) static let \(Self.member(file)): FileDescriptor = .init(", closing: ")") { out in
        let imports = file.dependency.map { ".\(Self.member(path: $0))" }.joined(separator: ", ")
        out.line("\"\(file.name ?? "")\", dependencies: [\(imports)],")
        out.line("base64: \"\"\"")
        var rest = text[...]
        while !rest.isEmpty {
          out.line("  \(rest.prefix(116))\(rest.count > 116 ? "\\" : "")")
          rest = rest.dropFirst(116)
        }
        out.line("  \"\"\"")
      }
    }
  }
}
