package import JSON
internal import MessagesCore
package import RPC

/// An ``RPCError`` in the JSON of the Connect protocol: the body of a failed unary call, and a member of the last envelope of a
/// stream.
package enum ConnectError {
  /// One detail as Connect carries it.
  package struct Detail: Sendable {
    /// The full name of the message: `google.rpc.RetryInfo`.
    package var type: String
    /// The message in wire format.
    package var value: [UInt8]
    /// The message in proto3 JSON, when the sender knows its type.
    package var debug: JSONValue?

    /// Joins the forms of one detail.
    package init(type: String, value: [UInt8], debug: JSONValue? = nil) {
      self.type = type
      self.value = value
      self.debug = debug
    }
  }

  /// Writes `error` as one JSON object. Its details come encoded: the wire codec is not this floor's business.
  package static func write(_ error: RPCError, details: [Detail], to writer: inout JSONWriter) {
    writer.beginObject()
    writer.name("code")
    writer.string(ConnectCode.name(error.code))
    if !error.message.isEmpty {
      writer.name("message")
      writer.string(error.message)
    }
    if !details.isEmpty {
      writer.name("details")
      writer.beginArray()
      for detail in details {
        writer.beginObject()
        writer.name("type")
        writer.string(detail.type)
        writer.name("value")
        writer.string(MetadataBase64.encode(detail.value))
        if let debug = detail.debug {
          writer.name("debug")
          writer.value(debug)
        }
        writer.endObject()
      }
      writer.endArray()
    }
    writer.endObject()
  }

  /// Reads an error.
  ///
  /// - Parameters:
  ///   - json: What stands where an error is expected.
  ///   - fallback: The code when the object names none that is known.
  ///   - detail: Makes a detail of what was read; by default from the JSON in `debug`, where there is one.
  /// - Returns: The error, or nil when `json` is no object at all.
  package static func read(
    _ json: JSONValue, fallback: StatusCode, detail: (Detail) -> ErrorDetail = detailFromDebug
  ) -> RPCError? {
    guard let object = json.object else { return nil }
    let code = object["code"]?.string.flatMap(ConnectCode.code(named:)) ?? fallback
    var details: [ErrorDetail] = []
    for element in object["details"]?.array ?? [] {
      guard let type = element["type"]?.string, let text = element["value"]?.string,
        let value = MetadataBase64.decode(text.utf8)
      else { continue }
      details.append(detail(Detail(type: type, value: value, debug: element["debug"])))
    }
    return RPCError(code, object["message"]?.string ?? "", details: details)
  }

  /// A detail from its JSON form, for whoever has no wire codec at hand.
  package static func detailFromDebug(_ detail: Detail) -> ErrorDetail {
    KnownDetail.detail(detail.type, from: DebugForm(json: detail.debug?.encoded() ?? []))
      ?? .other(typeURL: "type.googleapis.com/" + detail.type, bytes: detail.value)
  }

  private struct DebugForm: KnownDetail.Form {
    let json: [UInt8]

    func message<M: Message>(_ type: M.Type) -> M? {
      try? M(json: json, options: JSONDecodingOptions(ignoresUnknownFields: true))
    }
  }
}
