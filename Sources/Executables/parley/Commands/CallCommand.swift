import ArgumentParser
import RPC

/// `parley call`: any method by its name, JSON in and JSON out.
struct CallCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "call",
    abstract: "Call a method: JSON in, JSON out.",
    usage: "parley call <package.Service/Method> [<json>] [options]",
    discussion: """
      For example:
        parley call grpc.health.v1.Health/Check '{"service": ""}'
        parley call parley.broker.v1.TokenBrokerService/WhoAmI --bearer @id-token.txt
        echo '{}' | parley call parley.broker.v1.TokenBrokerService/ExchangeToken - --bearer "$TOKEN"

      Methods:
      \(KnownMethods.all.map { "  " + $0.name }.joined(separator: "\n"))
      """)

  @Argument(help: .init("The method, as in grpc.health.v1.Health/Check.", valueName: "package.Service/Method")) var method: String
  @Argument(help: "The request as JSON; '-' reads it from standard input.") var request = "{}"
  @Option(help: .init("Metadata to send; may be repeated. A name that ends in -bin takes base64.", valueName: "name=value"))
  var metadata: [MetadataArgument] = []
  @Option(help: .init("Send 'authorization: Bearer …': the token, @file, or '-' for standard input.", valueName: "token"))
  var bearer: SecretArgument?
  @OptionGroup var options: TargetOptions

  func validate() throws {
    guard request == "-", bearer?.source == .standardInput else { return }
    throw ValidationError("Only one of the request and the token can come from standard input.")
  }

  func run() async throws {
    guard let method = KnownMethods.named(method) else {
      throw ValidationError(
        "No method '\(method)'. Known are:\n" + KnownMethods.all.map { "  " + $0.name }.joined(separator: "\n"))
    }
    let request = request == "-" ? try StandardInput.read() : Array(request.utf8)
    var sent = Metadata()
    for argument in metadata { sent.append(argument.entry) }
    if let bearer { sent.append("authorization", "Bearer \(try bearer.read())") }
    let metadata = sent
    try await Connection.call(options) { connection in
      let response = try await method.call(connection, request, CallOptions(metadata: metadata, deadline: connection.deadline))
      Console.write(line: String(decoding: response, as: UTF8.self))
    }
  }
}
