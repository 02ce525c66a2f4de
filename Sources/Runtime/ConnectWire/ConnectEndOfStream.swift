internal import JSON
package import RPC

/// The last envelope of a Connect stream: how the call ended, and its trailing metadata.
package struct ConnectEndOfStream: Sendable {
  /// Why the call failed, or nil when it succeeded.
  package var error: RPCError?
  /// The trailing metadata.
  package var metadata: Metadata

  /// Joins an end with its metadata.
  package init(error: RPCError? = nil, metadata: Metadata = Metadata()) {
    self.error = error
    self.metadata = metadata
  }

  /// The JSON of the envelope. `details` are those of ``error``, encoded.
  package func json(details: [ConnectError.Detail]) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    if let error {
      writer.name("error")
      ConnectError.write(error, details: details, to: &writer)
    }
    let entries = metadata.entries
    if !entries.isEmpty {
      writer.name("metadata")
      writer.beginObject()
      var written: Set<String> = []
      for entry in entries where written.insert(entry.name).inserted {
        writer.name(entry.name)
        writer.beginArray()
        for other in entries where other.name == entry.name { writer.string(other.value.headerText) }
        writer.endArray()
      }
      writer.endObject()
    }
    writer.endObject()
    return writer.bytes
  }

  /// Reads the envelope.
  ///
  /// - Returns: nil when it is no JSON object.
  package init?(
    json bytes: [UInt8], detail: (ConnectError.Detail) -> ErrorDetail = ConnectError.detailFromDebug
  ) {
    guard let object = try? JSONParser.parse(bytes).object else { return nil }
    if let failure = object["error"], !failure.isNull {
      error = ConnectError.read(failure, fallback: .unknown, detail: detail) ?? RPCError(.unknown, "the error is no JSON object")
    }
    metadata = Metadata()
    for member in object["metadata"]?.object?.members ?? [] {
      for value in member.value.array ?? [] {
        guard let text = value.string, let entry = Metadata.Entry(header: member.name.lowercased(), text) else { continue }
        metadata.append(entry)
      }
    }
  }
}

extension Metadata.Entry {
  /// An entry of a header field; nil when a binary one is not base64.
  package init?(header name: String, _ text: String) {
    guard name.hasSuffix("-bin") else {
      self.init(name: name, value: .text(text))
      return
    }
    guard let bytes = MetadataBase64.decode(text.utf8) else { return nil }
    self.init(name: name, value: .binary(bytes))
  }
}

extension Metadata.Entry.Value {
  /// The value as a header field has it: bytes in base64.
  package var headerText: String {
    switch self {
    case .text(let text): text
    case .binary(let bytes): MetadataBase64.encode(bytes)
    }
  }
}
