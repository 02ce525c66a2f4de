import ArgumentParser
import MessagesCore
import ParleyAPI
import RPC
import RPCClient
import WellKnown

/// One unary method that `parley call` can call: its name, and the way from JSON to JSON.
struct KnownMethod: Sendable {
  /// `package.Service/Method`
  let name: String
  /// Calls it with a request in proto3 JSON and returns the response in proto3 JSON.
  let call: @Sendable (Connection, [UInt8], CallOptions) async throws -> [UInt8]

  init<Request: Message, Response: Message>(_ method: MethodDescriptor<Request, Response>) {
    name = String(method.info.path.dropFirst())
    call = { connection, json, options in
      let request: Request
      do { request = try Request(json: json) } catch {
        throw ValidationError("The request is no \(Request.descriptor.name): \(error)")
      }
      return try await connection.channel.unary(method, request, options).message.jsonBytes()
    }
  }
}

/// The methods of every service whose API is compiled in.
enum KnownMethods {
  static let all: [KnownMethod] = [
    KnownMethod(TokenBrokerService.Methods.exchangeToken), KnownMethod(TokenBrokerService.Methods.whoAmI),
    KnownMethod(GRPCHealthV1.Health.Methods.check), KnownMethod(GRPCHealthV1.Health.Methods.list),
  ]

  /// The method of that name, with or without a slash in front.
  static func named(_ name: String) -> KnownMethod? {
    all.first { $0.name == name || "/" + $0.name == name }
  }
}
