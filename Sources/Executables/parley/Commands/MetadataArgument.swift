import ArgumentParser
import RPC

/// One `name=value` of the command line.
struct MetadataArgument: ExpressibleByArgument {
  let entry: Metadata.Entry

  init?(argument: String) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2 else { return nil }
    let name = parts[0].lowercased()
    guard Metadata.isValidName(name) else { return nil }
    if name.hasSuffix("-bin") {
      guard let bytes = MetadataBase64.decode(Array(parts[1].utf8)) else { return nil }
      entry = .init(name: name, value: .binary(bytes))
    } else {
      guard Metadata.isValidText(parts[1]) else { return nil }
      entry = .init(name: name, value: .text(parts[1]))
    }
  }
}
