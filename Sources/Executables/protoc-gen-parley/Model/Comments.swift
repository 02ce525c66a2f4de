import WellKnown

/// The comments of a `.proto` file, by the path of the element that they belong to.
struct Comments {
  private var texts: [[Int32]: String] = [:]

  init(_ file: GoogleProtobuf.FileDescriptorProto) {
    for location in file.sourceCodeInfo?.location ?? [] {
      let text = location.leadingComments ?? location.trailingComments ?? ""
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
        String(line.hasPrefix(" ") ? line.dropFirst() : line[...]).trimmingSuffix { $0 == " " }
      }
      let joined = lines.joined(separator: "\n").trimmingSuffix { $0 == "\n" }
      if !joined.isEmpty { texts[location.path] = joined }
    }
  }

  /// The comment of the element at a path of field numbers and indices, or nil.
  subscript(path: [Int32]) -> String? { texts[path] }
}

extension String {
  fileprivate func trimmingSuffix(_ isTrimmed: (Character) -> Bool) -> String {
    var result = self[...]
    while let last = result.last, isTrimmed(last) { result = result.dropLast() }
    return String(result)
  }
}
