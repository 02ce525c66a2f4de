public import JudgeAPI
public import RPC

extension Metadata {
  /// The metadata that the judge lists, with names in lower case and binary values out of their base64.
  ///
  /// - Throws: ``RPCError`` with INTERNAL for a name or value that cannot be sent.
  public init(_ headers: [Judged.Header]) throws(RPCError) {
    self.init()
    for header in headers {
      let name = header.name.lowercased()
      for value in header.value {
        let bytes = name.hasSuffix("-bin") ? MetadataBase64.decode(value.utf8) : nil
        guard bytes != nil || !name.hasSuffix("-bin") else { throw RPCError(.internal, "the value of '\(name)' is not base64") }
        do throws(MetadataError) {
          if let bytes { try append(checking: name, bytes) } else { try append(checking: name, value) }
        } catch {
          throw RPCError(.internal, "\(error)", cause: error)
        }
      }
    }
  }

  /// What the judge reads: each name once, in the order of its first value, with all its values.
  public var headers: [Judged.Header] {
    var headers: [Judged.Header] = []
    var places: [String: Int] = [:]
    for entry in entries {
      let place = places[entry.name] ?? headers.count
      if place == headers.count {
        places[entry.name] = place
        headers.append(.init(name: entry.name))
      }
      switch entry.value {
      case .text(let text): headers[place].value.append(text)
      case .binary(let bytes): headers[place].value.append(MetadataBase64.encode(bytes))
      }
    }
    return headers
  }
}
