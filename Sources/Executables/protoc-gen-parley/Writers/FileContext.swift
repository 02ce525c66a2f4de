import WellKnown

/// What every writer of one file shares.
struct FileContext {
  let file: GoogleProtobuf.FileDescriptorProto
  let types: TypeIndex
  let parameters: Parameters

  var visibility: String { parameters.visibility }
  var package: String { file.package ?? "" }
  var isProto3: Bool { file.syntax == "proto3" }

  func model(_ message: GoogleProtobuf.DescriptorProto, _ fullName: String) throws(GenerationError) -> MessageModel {
    try MessageModel(message, fullName: fullName, isProto3: isProto3, types)
  }

  func enumWriter(
    _ item: GoogleProtobuf.EnumDescriptorProto, in scope: String, _ comments: Comments, _ path: [Int32]
  ) -> EnumWriter {
    EnumWriter(
      proto: item, fullName: "\(scope).\(item.name ?? "")",
      swiftName: TypeIndex.swiftName(item, package: scope == package ? package : nil), comments: comments, path: path,
      visibility: visibility)
  }
}
