import DynamicMessages
import MessagesCore
import MessagesWire
import RPC
import WellKnown

/// Asks a server what it serves: `grpc.reflection.v1`, or `v1alpha` where a server has only that.
struct ReflectionClient: Sendable {
  typealias Request = GRPCReflectionV1.ServerReflectionRequest
  typealias Response = GRPCReflectionV1.ServerReflectionResponse
  /// One session with a server.
  typealias Session = ReflectionSession

  let channel: any Channel
  /// What goes with every session.
  let options: CallOptions

  /// The server answers neither version.
  struct Unavailable: Error, CustomStringConvertible {
    let description = "the server does not tell what it serves: it has no reflection"
  }

  /// The full names of all services, sorted.
  func services() async throws -> [String] {
    let answer = try await session { session in try await session.ask(.listServices("*")) }
    guard case .listServicesResponse(let list) = answer else { throw ReflectionSession.unexpected(answer) }
    return list.service.map(\.name).sorted()
  }

  /// Adds the file that declares a symbol, and all that it imports, to a pool.
  ///
  /// - Returns: Whether the server knows the symbol.
  func load(_ symbol: String, into pool: DescriptorPool) async throws -> Bool {
    guard let files = try await session({ session in try await session.files(declaring: symbol, in: pool) }) else { return false }
    try pool.add(files)
    return true
  }

  private func session<Result: Sendable>(_ body: (Session) async throws -> Result) async throws -> Result {
    for version in ["v1", "v1alpha"] {
      // The messages of both are the same on the wire.
      let method = MethodDescriptor<Request, Response>(
        service: "grpc.reflection.\(version).ServerReflection", name: "ServerReflectionInfo", kind: .bidirectional,
        access: .public)
      do {
        return try await channel.stream(method, options) { stream in
          let result = try await body(ReflectionSession(stream))
          try await stream.finishSending()
          return result
        }
      } catch let error as RPCError where error.code == .unimplemented {}
    }
    throw Unavailable()
  }
}
