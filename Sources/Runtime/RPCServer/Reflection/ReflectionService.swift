internal import MessagesCore
public import RPC
internal import WellKnown

/// Server reflection: tells any client which services there are and what their messages look like.
///
/// It is served as `grpc.reflection.v1.ServerReflection` and, for clients of before 2023, as `grpc.reflection.v1alpha`, whose
/// messages are the same on the wire. Both are listed along with the services that they tell of. Everything that a `.proto` file
/// says is told, but for its comments; no method is callable through it that was not so before.
public struct ReflectionService: Sendable {
  private let files: ReflectedFiles
  private let services: [String]

  /// Tells of these services, and of itself. A service without a file is listed, and nothing more is known of it.
  public init(_ services: some Sequence<ServiceDescriptor>) {
    let all = Array(services) + Self.descriptors
    files = ReflectedFiles(all.compactMap(\.file))
    self.services = all.map(\.name).sorted()
  }

  /// The routes of both versions, for the server. A stream of questions ends as UNAVAILABLE when the server drains.
  public var routes: [ServiceRoutes] {
    Self.descriptors.map { descriptor in
      ServiceRoutes(descriptor, descriptor.methods.map { MethodRoute($0, serve) }).endingWithServer()
    }
  }

  private static let descriptors: [ServiceDescriptor] = [
    GRPCReflectionV1.ServerReflection.descriptor, GRPCReflectionV1alpha.ServerReflection.descriptor,
  ]

  private func serve(_ call: any ServerCall) async throws {
    var answers = ReflectionAnswers(files, services: services)
    while let request = try await call.receive(ReflectionAnswers.Request.self) {
      try await call.send(answers.answer(request))
    }
  }
}

extension [ServiceRoutes] {
  /// These services, and reflection that tells of them.
  public func withReflection() -> [ServiceRoutes] { self + ReflectionService(map(\.descriptor)).routes }
}
