import ArgumentParser
import DynamicMessages
import JSON
import WellKnown

/// `parley list`: what a server serves.
struct ListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List a server's services, or the methods of one.",
    discussion: """
      The server is asked by reflection.
        parley list --target localhost:8080
        parley list grpc.health.v1.Health --target localhost:8080
      """)

  @Argument(help: .init("List the methods of this service.", valueName: "package.Service")) var service: String?
  @OptionGroup var sent: SentMetadata
  @OptionGroup(title: "Options of the protocol") var wire: WireOptions
  @OptionGroup(title: "Options of the connection") var options: TargetOptions

  func run() async throws {
    try await Connection.call(options, wire, try sent.read()) { connection in
      guard let service else { return Self.write(services: try await connection.reflection.services(), asJSON: options.json) }
      let pool = try await Schema(connection.reflection).declarations(of: service)
      guard let methods = pool?.methods(of: service) else {
        throw ValidationError("The server has no service '\(service)'. 'parley list' shows those that it has.")
      }
      let lines = methods.map { method in
        DeclarationText.method(method, of: service)
      }
      if options.json {
        Console.write(
          json: .array(zip(methods, lines).map { ["method": .string("\(service)/\($0.name ?? "")"), "signature": .string($1)] }))
      } else {
        for line in lines { Console.write(line: Printable.text(line)) }
      }
    }
  }

  private static func write(services: [String], asJSON: Bool) {
    if asJSON { return Console.write(json: .array(services.map(JSONValue.string))) }
    for service in services { Console.write(line: Printable.text(service)) }
  }
}
