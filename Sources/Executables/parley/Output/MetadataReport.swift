import RPC

/// What travels around messages, for people: on standard error, a line for each value.
enum MetadataReport {
  /// Shows initial or trailing metadata.
  static func note(_ which: String, _ metadata: Metadata) {
    for entry in metadata.entries {
      switch entry.value {
      case .text(let text): Console.note("\(which) \(entry.name): \(Printable.text(text))")
      case .binary(let bytes): Console.note("\(which) \(entry.name): \(MetadataBase64.encode(bytes))")
      }
    }
  }
}
