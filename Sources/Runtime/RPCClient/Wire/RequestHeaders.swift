internal import ConnectWire
internal import HTTP2
internal import RPC
internal import RPCWire

/// The header lists of requests.
enum RequestHeaders {
  /// The headers of a call, whose only request is compressed like this where the headers have to tell.
  static func list(
    _ plan: CallPlan, _ part: ClientLoop, isSecure: Bool, bodyCompression: MessageCompression = .identity
  ) -> HeaderList {
    let list = begin("POST", path: plan.method.path, plan, part, isSecure)
    list.append("content-type", plan.wire.contentType(plan.codec))
    if plan.wire.isConnect {
      addConnect(plan, to: list)
    } else {
      list.append("te", "trailers")
      if let deadline = plan.deadline { list.append("grpc-timeout", Timeout.encode(deadline.timeLeft)) }
      if plan.previousAttempts > 0 { list.append("grpc-previous-rpc-attempts", "\(plan.previousAttempts)") }
      if plan.wire == .grpcWeb { list.append("x-grpc-web", "1") }
    }
    let compression = plan.wire == .connectUnary ? bodyCompression : plan.compression
    if compression != .identity { list.append(plan.wire.encodingHeader, compression.rawValue) }
    list.append(plan.wire.acceptEncodingHeader, AcceptedCompressions.supported)
    end(list, plan, part)
    return list
  }

  /// The headers of a call by GET.
  static func get(_ plan: CallPlan, _ part: ClientLoop, isSecure: Bool, query: String) -> HeaderList {
    let list = begin("GET", path: plan.method.path + "?" + query, plan, part, isSecure)
    addConnect(plan, to: list)
    list.append(plan.wire.acceptEncodingHeader, AcceptedCompressions.supported)
    end(list, plan, part)
    return list
  }

  private static func begin(
    _ method: String, path: String, _ plan: CallPlan, _ part: ClientLoop, _ isSecure: Bool
  ) -> HeaderList {
    let list = HeaderList(capacity: 11 + plan.metadata.entries.count)
    list.append(":method", method)
    list.append(":scheme", isSecure ? "https" : "http")
    list.append(":path", path)
    list.append(":authority", part.target.description)
    return list
  }

  private static func addConnect(_ plan: CallPlan, to list: HeaderList) {
    list.append(ConnectHeaders.protocolVersion, ConnectHeaders.version)
    if let deadline = plan.deadline { list.append(ConnectHeaders.timeout, ConnectHeaders.encodeTimeout(deadline.timeLeft)) }
  }

  private static func end(_ list: HeaderList, _ plan: CallPlan, _ part: ClientLoop) {
    list.append("user-agent", part.configuration.userAgent)
    GRPCHeaders.append(plan.metadata, to: list)
  }
}
