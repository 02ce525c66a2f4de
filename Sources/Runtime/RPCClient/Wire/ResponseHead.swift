internal import ConnectWire
internal import HTTP2
internal import RPC
internal import RPCWire

/// What the headers of a response say about the rest of it.
enum ResponseHead {
  /// It is an answer to the call; its messages are compressed like this.
  case accepted(MessageCompression)
  /// A header list that has a status: it is the whole response, if nothing follows.
  case perhapsTrailers
  /// It is no answer that could be understood, whatever follows.
  case refused(RPCError)

  static func read(_ headers: HeaderBlock, _ plan: CallPlan) -> ResponseHead {
    if !plan.wire.isConnect, headers.value(.grpcStatus) != nil { return .perhapsTrailers }
    let type = headers.value(.contentType).map(WireContentType.parse) ?? .other
    guard headers.value(.status, is: "200") else {
      // The body of a failed unary call says why, if it is JSON.
      let explains = plan.wire == .connectUnary && type == .known(.connectUnary, .json)
      return explains ? encoding(headers, plan.wire) : .refused(error(forHTTP: headers))
    }
    switch type {
    case .known(plan.wire, plan.codec): return encoding(headers, plan.wire)
    case .known(plan.wire, _), .unknownCodec(plan.wire):
      let name = headers.text(.contentType) ?? ""
      return .refused(RPCError(.internal, "the server answered in the content type '\(name.prefix(64))'"))
    default: return .refused(error(forHTTP: headers))
    }
  }

  private static func encoding(_ headers: HeaderBlock, _ wire: WireProtocol) -> ResponseHead {
    let name = wire.isConnect ? headers.text(named: wire.encodingHeader) : headers.text(.encoding)
    guard let name else { return .accepted(.identity) }
    guard let compression = MessageCompression(named: name.utf8) else {
      return .refused(RPCError(.internal, "the server answered in the unknown encoding '\(name.prefix(32))'"))
    }
    return .accepted(compression)
  }

  /// What a response means that is none of this protocol: something in between has answered.
  static func error(forHTTP headers: HeaderBlock) -> RPCError {
    let status = headers.text(.status) ?? "none"
    let code = ConnectCode.code(httpStatus: Int(status) ?? 0)
    let type = headers.text(.contentType).map { " and content type '\($0.prefix(64))'" } ?? ""
    var error = RPCError(code, "the answer is not from an RPC server: HTTP status \(status)\(type)")
    if let delay = headers.text(named: "retry-after") { error.metadata["retry-after"] = delay }
    return error
  }

  /// The headers that belong to the user.
  static func metadata(_ headers: HeaderBlock, _ wire: WireProtocol) -> Metadata {
    let all = GRPCHeaders.metadata(headers)
    guard wire == .connectUnary else { return all }
    var metadata = Metadata()
    for entry in all.entries where !entry.name.hasPrefix(ConnectHeaders.trailerPrefix) { metadata.append(entry) }
    return metadata
  }

  /// The trailers among the headers of a unary response.
  static func trailers(_ headers: HeaderBlock) -> Metadata {
    let prefix = ConnectHeaders.trailerPrefix
    var metadata = Metadata()
    for entry in GRPCHeaders.metadata(headers).entries where entry.name.hasPrefix(prefix) {
      metadata.append(.init(name: String(entry.name.dropFirst(prefix.count)), value: entry.value))
    }
    return metadata
  }
}
