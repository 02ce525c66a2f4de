import ConnectConformance
import EventLoop
import HTTP2
import JudgeAPI
import MessagesCore
import RPC
import RPCClient

/// One call that the judge asks for, on a channel of its own.
struct RequestedCall {
  private let request: Judged.ClientCompatRequest
  private let usesUnaryCalls: Bool
  private let contexts: SharedContexts

  init(_ request: Judged.ClientCompatRequest, usesUnaryCalls: Bool, _ contexts: SharedContexts) {
    self.request = request
    self.usesUnaryCalls = usesUnaryCalls
    self.contexts = contexts
  }

  /// What became of it; an error only when it could not be made at all.
  func result(on group: EventLoopGroup) async -> Judged.ClientCompatResponse.Result {
    let channel: ClientChannel
    do { channel = try self.channel(on: group) } catch { return .error(.init(message: "\(error)")) }
    let result = await result(through: channel)
    await channel.close()
    return result
  }

  private func result(through channel: ClientChannel) async -> Judged.ClientCompatResponse.Result {
    do {
      return .response(try await dispatched(through: channel))
    } catch let error as RPCError {
      // The call did not begin: nothing of it was sent.
      return .response(.init(error: error.report, numUnsentRequests: Int32(request.requestMessages.count)))
    } catch {
      return .error(.init(message: "\(error)"))
    }
  }

  private func channel(on group: EventLoopGroup) throws -> ClientChannel {
    guard request.rawRequest == nil else { throw Refusal("a raw request is not sent here: it would not be the client's own") }
    guard request.httpVersion != .httpVersion1, request.httpVersion != .httpVersion3 else {
      throw Refusal("HTTP/2 is all that is spoken here")
    }
    guard let port = UInt16(exactly: request.port) else { throw Refusal("\(request.port) is no port") }
    var configuration = ClientChannelConfiguration(tls: try contexts.context(for: request))
    configuration.wire = try wire()
    configuration.codec = try codec()
    configuration.compression = try compression()
    configuration.registry = .conformance
    if request.messageReceiveLimit > 0 { configuration.maximumResponseBytes = Int(request.messageReceiveLimit) }
    return ClientChannel(to: .host(request.host, port: port), on: group, configuration: configuration)
  }

  private func wire() throws(Refusal) -> ClientChannelConfiguration.Wire {
    switch request.protocol {
    case .connect: .connect
    case .grpc: .grpc
    case .grpcWeb: .grpcWeb
    default: throw Refusal("the protocol \(request.protocol) is not spoken here")
    }
  }

  private func codec() throws(Refusal) -> ClientChannelConfiguration.Codec {
    switch request.codec {
    case .proto, .unspecified: .proto
    case .json: .json
    default: throw Refusal("the codec \(request.codec) is not spoken here")
    }
  }

  private func compression() throws(Refusal) -> MessageCompression {
    switch request.compression {
    case .identity, .unspecified: .identity
    case .gzip: .gzip
    case .deflate: .deflate
    default: throw Refusal("the compression \(request.compression) is not spoken here")
    }
  }
}

extension RequestedCall {
  /// Makes the call with the types of its method.
  private func dispatched(through channel: ClientChannel) async throws -> Judged.ClientResponseResult {
    switch request.method ?? "" {
    case "IdempotentUnary":
      return try await made(Judged.ConformanceService.Methods.idempotentUnary, through: channel)
    case "Unimplemented":
      return try await made(Judged.ConformanceService.Methods.unimplemented, through: channel)
    default: break
    }
    switch request.streamType {
    case .unary: return try await made(method(.unary, Judged.ConformanceService.Methods.unary), through: channel)
    case .clientStream:
      return try await made(method(.clientStreaming, Judged.ConformanceService.Methods.clientStream), through: channel)
    case .serverStream:
      return try await made(method(.serverStreaming, Judged.ConformanceService.Methods.serverStream), through: channel)
    case .halfDuplexBidiStream, .fullDuplexBidiStream:
      return try await made(method(.bidirectional, Judged.ConformanceService.Methods.bidiStream), through: channel)
    default: throw Refusal("the kind \(request.streamType) of call is not known here")
    }
  }

  /// A method of this kind under the names that were asked for, which need not exist.
  private func method<Request, Response>(
    _ kind: MethodKind, _ known: MethodDescriptor<Request, Response>
  ) -> MethodDescriptor<Request, Response> {
    MethodDescriptor(
      service: request.service ?? known.info.service, name: request.method ?? known.info.name, kind: kind, access: .public)
  }

  private func made<Request: Message, Response: Answer>(
    _ method: MethodDescriptor<Request, Response>, through channel: ClientChannel
  ) async throws -> Judged.ClientResponseResult {
    let messages = try request.requestMessages.map { any throws(RPCError) in try any.unpacked(Request.self) }
    var options = CallOptions(metadata: try Metadata(request.requestHeaders), prefersGET: request.useGetHTTPMethod)
    if let milliseconds = request.timeoutMs { options.deadline = .after(.milliseconds(milliseconds)) }
    if usesUnaryCalls, method.info.kind == .unary, request.cancel == nil, messages.count == 1 {
      return try await unary(method, messages[0], options, through: channel)
    }
    return try await channel.stream(method, options) { stream in
      var conversation = Conversation(request, stream)
      return await conversation.hold(with: messages)
    }
  }

  private func unary<Request: Message, Response: Answer>(
    _ method: MethodDescriptor<Request, Response>, _ message: Request, _ options: CallOptions, through channel: ClientChannel
  ) async throws -> Judged.ClientResponseResult {
    if request.requestDelayMs > 0 { try await Task.sleep(for: .milliseconds(request.requestDelayMs)) }
    do throws(RPCError) {
      let response = try await channel.unary(method, message, options)
      return .init(
        responseHeaders: response.initialMetadata.headers, payloads: [response.message.payload ?? .init()],
        responseTrailers: response.trailingMetadata.headers)
    } catch {
      return .init(
        responseHeaders: error.initialMetadata.headers, error: error.report, responseTrailers: error.metadata.headers)
    }
  }
}

/// Why a call cannot be made as it was asked for.
struct Refusal: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
