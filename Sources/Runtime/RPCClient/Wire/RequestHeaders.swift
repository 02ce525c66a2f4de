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
    switch plan.format {
    case .grpc, .grpcWeb:
      list.append("te", "trailers")
      if let deadline = plan.deadline { list.append("grpc-timeout", Timeout.encode(deadline.timeLeft)) }
      list.append("content-type", ContentTypes.request(plan.format, part.configuration.codec))
      if plan.compression != .identity { list.append("grpc-encoding", plan.compression.rawValue) }
      list.append("grpc-accept-encoding", "identity,gzip,deflate")
      if plan.format == .grpcWeb { list.append("x-grpc-web", "1") }
    case .connectStream:
      addConnect(plan, to: list)
      list.append("content-type", ContentTypes.request(plan.format, part.configuration.codec))
      if plan.compression != .identity { list.append("connect-content-encoding", plan.compression.rawValue) }
      list.append("connect-accept-encoding", "gzip")
    case .connectUnary:
      addConnect(plan, to: list)
      list.append("content-type", ContentTypes.request(plan.format, part.configuration.codec))
      if bodyCompression != .identity { list.append("content-encoding", bodyCompression.rawValue) }
      list.append("accept-encoding", "gzip")
    }
    end(list, plan, part)
    return list
  }

  /// The headers of a call by GET.
  static func get(_ plan: CallPlan, _ part: ClientLoop, isSecure: Bool, query: String) -> HeaderList {
    let list = begin("GET", path: plan.method.path + "?" + query, plan, part, isSecure)
    addConnect(plan, to: list)
    list.append("accept-encoding", "gzip")
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
    list.append("connect-protocol-version", "1")
    guard let deadline = plan.deadline else { return }
    // At most ten digits, and never none: what is left of a deadline that passes now is a millisecond.
    let left = deadline.timeLeft / .milliseconds(1)
    list.append("connect-timeout-ms", "\(max(1, Int64(min(left.rounded(.up), 9_999_999_999))))")
  }

  private static func end(_ list: HeaderList, _ plan: CallPlan, _ part: ClientLoop) {
    list.append("user-agent", part.configuration.userAgent)
    GRPCHeaders.append(plan.metadata, to: list)
  }
}
