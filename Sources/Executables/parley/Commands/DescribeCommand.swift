import ArgumentParser
import DynamicMessages
import WellKnown

/// `parley describe`: what a server says of one of its services, methods, messages or enums.
struct DescribeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "describe",
    abstract: "Show the declaration of a server's service, method, message or enum.",
    discussion: """
      The server is asked by reflection. A method is shown with its request and its response.
        parley describe grpc.health.v1.Health --target localhost:8080
        parley describe grpc.health.v1.Health/Check --target localhost:8080
        parley describe grpc.health.v1.HealthCheckResponse --target localhost:8080
      """)

  @Argument(help: .init("What to show.", valueName: "symbol")) var symbol: String
  @OptionGroup var sent: SentMetadata
  @OptionGroup(title: "Options of the protocol") var wire: WireOptions
  @OptionGroup(title: "Options of the connection") var options: TargetOptions

  func run() async throws {
    try await Connection.call(options, wire, try sent.read()) { connection in
      let schema = Schema(connection.reflection)
      let name = symbol.split(separator: "/").joined(separator: ".")
      guard let pool = try await schema.declarations(of: name), let lines = Self.lines(name, pool) else {
        throw ValidationError("The server has no service, method, message or enum '\(symbol)'.")
      }
      for line in lines { Console.write(line: Printable.text(line)) }
    }
  }

  private static func lines(_ name: String, _ pool: DescriptorPool) -> [String]? {
    if let declaration = pool.declaration(of: name) { return DeclarationText.lines(declaration, name) }
    guard let method = MethodName(argument: name), let methods = pool.methods(of: method.service),
      let proto = methods.first(where: { $0.name == method.method })
    else { return nil }
    var lines = [DeclarationText.method(proto, of: method.service)]
    for type in [proto.inputType, proto.outputType].map(DescriptorPool.name) {
      guard let declaration = pool.declaration(of: type) else { continue }
      lines += [""] + DeclarationText.lines(declaration, type)
    }
    return lines
  }
}
