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

  static func read(
    _ headers: HeaderBlock, _ plan: CallPlan, _ codec: ClientChannelConfiguration.Codec
  ) -> ResponseHead {
    let isGRPC = plan.format == .grpc || plan.format == .grpcWeb
    if isGRPC, headers.value(.grpcStatus) != nil { return .perhapsTrailers }
    let type = headers.text(.contentType) ?? ""
    guard headers.value(.status, is: "200") else {
      // The body of a failed unary call says why, if it is JSON.
      let explains = plan.format == .connectUnary && ContentTypes.isJSON(type)
      return explains ? encoding(headers, plan.format) : .refused(error(forHTTP: headers))
    }
    switch ContentTypes.match(type, plan.format, codec) {
    case .expected: return encoding(headers, plan.format)
    case .otherCodec: return .refused(RPCError(.internal, "the server answered in the content type '\(type.prefix(64))'"))
    case .foreign: return .refused(error(forHTTP: headers))
    }
  }

  private static func encoding(_ headers: HeaderBlock, _ format: BodyFormat) -> ResponseHead {
    let name =
      switch format {
      case .grpc, .grpcWeb: headers.text(.encoding)
      case .connectUnary: headers.text(named: "content-encoding")
      case .connectStream: headers.text(named: "connect-content-encoding")
      }
    guard let name else { return .accepted(.identity) }
    guard let compression = MessageCompression(rawValue: name) else {
      return .refused(RPCError(.internal, "the server answered in the unknown encoding '\(name.prefix(32))'"))
    }
    return .accepted(compression)
  }

  /// What a response means that is none of this protocol: something in between has answered.
  static func error(forHTTP headers: HeaderBlock) -> RPCError {
    let status = headers.text(.status) ?? "none"
    let code = status == "431" ? .internal : ConnectCode.code(httpStatus: Int(status) ?? 0)
    let type = headers.text(.contentType).map { " and content type '\($0.prefix(64))'" } ?? ""
    var error = RPCError(code, "the answer is not from an RPC server: HTTP status \(status)\(type)")
    if let delay = headers.text(named: "retry-after") { error.metadata["retry-after"] = delay }
    return error
  }

  /// The headers that belong to the user.
  static func metadata(_ headers: HeaderBlock, _ format: BodyFormat) -> Metadata {
    let all = GRPCHeaders.metadata(headers)
    guard format == .connectUnary || format == .connectStream else { return all }
    var metadata = Metadata()
    for entry in all.entries where !isConnects(entry.name, format) { metadata.append(entry) }
    return metadata
  }

  /// The trailers among the headers of a unary response.
  static func trailers(_ headers: HeaderBlock) -> Metadata {
    var metadata = Metadata()
    for entry in GRPCHeaders.metadata(headers).entries where entry.name.hasPrefix(trailerPrefix) {
      metadata.append(.init(name: String(entry.name.dropFirst(trailerPrefix.count)), value: entry.value))
    }
    return metadata
  }

  private static let trailerPrefix = "trailer-"

  private static func isConnects(_ name: String, _ format: BodyFormat) -> Bool {
    switch name {
    case "content-encoding", "content-length", "accept-encoding", "accept-post": true
    default: name.hasPrefix("connect-") || format == .connectUnary && name.hasPrefix(trailerPrefix)
    }
  }
}
