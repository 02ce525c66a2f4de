import WellKnown

/// Writes a service: its methods, what serves them, and a client.
struct ServiceWriter {
  private struct Method {
    let proto: GoogleProtobuf.MethodDescriptorProto
    let name: String
    let request: String
    let response: String
    let access: String
    let policy: PolicyOptions
    let comment: String?

    var isClientStreaming: Bool { proto.clientStreaming ?? false }
    var isServerStreaming: Bool { proto.serverStreaming ?? false }

    var kind: String {
      switch (isClientStreaming, isServerStreaming) {
      case (false, false): "unary"
      case (true, false): "clientStreaming"
      case (false, true): "serverStreaming"
      case (true, true): "bidirectional"
      }
    }

    var idempotency: String {
      switch proto.options?.idempotencyLevel {
      case .noSideEffects: ", idempotency: .noSideEffects"
      case .idempotent: ", idempotency: .idempotent"
      default: ""
      }
    }
  }

  private let service: GoogleProtobuf.ServiceDescriptorProto
  private let fullName: String
  private let methods: [Method]
  private let comment: String?
  private let context: FileContext

  private var visibility: String { context.visibility }

  init(
    _ service: GoogleProtobuf.ServiceDescriptorProto, index: Int, _ comments: Comments, _ context: FileContext
  ) throws(GenerationError) {
    self.service = service
    self.context = context
    fullName = "\(context.package).\(service.name ?? "")"
    comment = comments[[6, Int32(index)]]
    var methods: [Method] = []
    for (position, method) in service.method.enumerated() {
      let access = try AccessOption.access(of: method, in: fullName, package: context.package)
      methods.append(
        Method(
          proto: method, name: SwiftNames.member(method.name ?? ""), request: try context.types.entry(method.inputType).swiftName,
          response: try context.types.entry(method.outputType).swiftName, access: access,
          policy: try PolicyOptions(method, access: access, in: fullName, context),
          comment: comments[[6, Int32(index), 2, Int32(position)]]))
    }
    self.methods = methods
  }

  /// The limits of the methods, for who compares them with those of other services.
  var limits: [(method: String, limit: PolicyOptions.Limit)] {
    methods.flatMap { method in method.policy.limits.map { ("\(fullName).\(method.proto.name ?? "")", $0) } }
  }

  func write(to out: inout CodePrinter) {
    out.document(comment, fallback: "`\(fullName)`.")
    out.block("\(visibility) enum \(SwiftNames.type(service.name ?? "", suffix: "Service")) {") { out in
      writeMethods(to: &out)
      writeHandlers(to: &out)
      writeRoutes(to: &out)
      writeClient(to: &out)
    }
  }

  private func writeMethods(to out: inout CodePrinter) {
    out.document(nil, fallback: "The service's name, methods and file.")
    let list = methods.map { "Methods.\($0.name).info" }.joined(separator: ", ")
    out.line(
      "\(visibility) static let descriptor: ServiceDescriptor = .init(name: \"\(fullName)\", methods: [\(list)], file: file)")
    out.line()
    out.document(nil, fallback: "The file that declares the service, for reflection.")
    out.line("\(visibility) static var file: FileDescriptor { .\(FileDescriptorWriter.member(context.file)) }")
    out.line()
    out.document(nil, fallback: "The methods of `\(fullName)`.")
    out.block("\(visibility) enum Methods {") { out in
      for method in methods {
        out.document(method.comment, fallback: "`\(method.proto.name ?? "")`.")
        out.block(
          "\(visibility) static let \(SwiftNames.escaped(method.name)): MethodDescriptor<\(method.request), \(method.response)> = .init(",
          closing: ")"
        ) { out in
          let more = method.policy.arguments
          out.line(
            "service: \"\(fullName)\", name: \"\(method.proto.name ?? "")\", kind: .\(method.kind), access: .\(method.access)\(method.idempotency)\(more.isEmpty ? "" : ",")"
          )
          for (index, argument) in more.enumerated() { out.line(argument + (index == more.count - 1 ? "" : ",")) }
        }
      }
    }
  }

  private func writeHandlers(to out: inout CodePrinter) {
    out.line()
    out.document(nil, fallback: "The code that serves `\(fullName)`.")
    out.block("\(visibility) protocol Handlers: Sendable {") { out in
      for method in methods {
        out.document(method.comment, fallback: "`\(method.proto.name ?? "")`.")
        // What takes a request may let go of it before its answer is there.
        let ownership = method.isClientStreaming || method.isServerStreaming ? "" : "consuming "
        let requests =
          method.isClientStreaming
          ? "_ requests: RequestStream<\(method.request)>" : "_ request: \(ownership)\(method.request)"
        let responses = method.isServerStreaming ? ", _ responses: ResponseWriter<\(method.response)>" : ""
        let result = method.isServerStreaming ? "" : " -> \(method.response)"
        out.line("func \(SwiftNames.escaped(method.name))(\(requests)\(responses), _ call: CallContext) async throws\(result)")
      }
    }
  }

  private func writeRoutes(to out: inout CodePrinter) {
    out.line()
    out.document(nil, fallback: "Joins the methods with the code that serves them.")
    out.block("\(visibility) static func routes(_ handlers: some Handlers) -> ServiceRoutes {") { out in
      out.block("ServiceRoutes(descriptor, [", closing: "])") { out in
        for method in methods {
          let requests = method.isClientStreaming ? "requests" : "request"
          let responses = method.isServerStreaming ? ", responses" : ""
          let arguments = "\(requests)\(responses), call"
          out.line(
            ".\(method.kind)(Methods.\(method.name)) { \(arguments) in try await handlers.\(method.name)(\(arguments)) },")
        }
      }
    }
  }

  private func writeClient(to out: inout CodePrinter) {
    out.line()
    out.document(nil, fallback: "Calls the methods of `\(fullName)`.")
    out.block("\(visibility) struct Client: Sendable {") { out in
      out.document(nil, fallback: "The way to the service.")
      out.line("\(visibility) let channel: any Channel")
      out.line()
      out.document(nil, fallback: "A client over a channel.")
      out.line("\(visibility) init(_ channel: any Channel) { self.channel = channel }")
      for method in methods {
        out.line()
        out.document(method.comment, fallback: "`\(method.proto.name ?? "")`.")
        writeCall(method, to: &out)
      }
    }
  }

  private func writeCall(_ method: Method, to out: inout CodePrinter) {
    let name = SwiftNames.escaped(method.name)
    let request = "_ request: \(method.request) = .init(), "
    let options = "options: CallOptions = .init()"
    let signature: String
    let call: String
    switch method.kind {
    case "unary":
      signature = "\(name)(\(request)\(options)) async throws(RPCError) -> \(method.response)"
      call = "unary(Methods.\(method.name), request, options).message"
    case "serverStreaming":
      let body = "_ body: (ResponseStream<\(method.response)>) async throws -> Result"
      signature = "\(name)<Result: Sendable>(\(request)\(options), \(body)) async throws -> Result"
      call = "serverStreaming(Methods.\(method.name), request, options, body)"
    case "clientStreaming":
      let body = "_ body: (RequestWriter<\(method.request)>) async throws -> Void"
      signature = "\(name)(\(options), \(body)) async throws -> \(method.response)"
      call = "clientStreaming(Methods.\(method.name), options, body)"
    default:
      let body = "_ body: (ClientStream<\(method.request), \(method.response)>) async throws -> Result"
      signature = "\(name)<Result: Sendable>(\(options), \(body)) async throws -> Result"
      call = "stream(Methods.\(method.name), options, body)"
    }
    out.block("\(visibility) func \(signature) {") { out in out.line("try await channel.\(call)") }
  }
}
