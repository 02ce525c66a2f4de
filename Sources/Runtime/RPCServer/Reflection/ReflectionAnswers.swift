internal import MessagesCore
internal import RPC
internal import WellKnown

/// What one reflection stream answers: one response for each request, in order.
///
/// It remembers which files the stream has carried, so that an import is sent once, however often it is needed.
struct ReflectionAnswers {
  typealias Request = GRPCReflectionV1.ServerReflectionRequest
  typealias Response = GRPCReflectionV1.ServerReflectionResponse

  private let files: ReflectedFiles
  private let services: [String]
  private var sent: Set<String> = []

  /// Answers from `files`; `services` are the names that are served.
  init(_ files: ReflectedFiles, services: [String]) {
    self.files = files
    self.services = services
  }

  /// The response to one request. What is wrong with a request is said in the response: the stream goes on.
  mutating func answer(_ request: Request) -> Response {
    Response(validHost: request.host, originalRequest: request, messageResponse: content(request))
  }

  private mutating func content(_ request: Request) -> Response.MessageResponse {
    switch request.messageRequest {
    case .fileByFilename(let name): return file(files.byName[name], "no file of this name")
    case .fileContainingSymbol(let symbol): return file(files.bySymbol[symbol], "no such symbol")
    case .fileContainingExtension(let wanted):
      let key = ReflectedFiles.ExtensionKey(extendee: wanted.containingType, number: wanted.extensionNumber)
      return file(files.byExtension[key], "no such extension")
    case .allExtensionNumbersOfType(let message):
      guard files.messages.contains(message) else { return error(.notFound, "no such message") }
      return .allExtensionNumbersResponse(
        .init(baseTypeName: message, extensionNumber: files.extensionNumbers(of: message)))
    case .listServices: return .listServicesResponse(.init(service: services.map { .init(name: $0) }))
    case nil: return error(.invalidArgument, "the request asks for nothing that this server knows")
    }
  }

  /// The file that was asked for, then what it imports, directly or not, as far as the stream has not carried it.
  private mutating func file(_ wanted: FileDescriptor?, _ failure: String) -> Response.MessageResponse {
    guard let wanted else { return error(.notFound, failure) }
    var serialized: [Bytes] = []
    var visited: Set<String> = [wanted.name]
    var open = [wanted][...]
    while let file = open.popFirst() {
      let isNew = sent.insert(file.name).inserted
      if isNew || serialized.isEmpty { serialized.append(file.serialized) }
      for dependency in file.dependencies where visited.insert(dependency.name).inserted { open.append(dependency) }
    }
    return .fileDescriptorResponse(.init(fileDescriptorProto: serialized))
  }

  private func error(_ code: StatusCode, _ message: String) -> Response.MessageResponse {
    .errorResponse(.init(errorCode: Int32(code.rawValue), errorMessage: message))
  }
}
